"""Runs the server: from the configuration to the end of the last delivery."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import uvicorn
from botocore.exceptions import BotoCoreError, ClientError
from starlette.applications import Starlette

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.webhook import WebhookSpec
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.webhook.schemes import scheme_of
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.aws.sqs import Queue
from tidegate.platform.lake.secret_text import explain_exposure
from tidegate.platform.webhook.application import Application, RateLimit, Sender
from tidegate.platform.webhook.http_protocol import BoundedProtocol
from tidegate.platform.webhook.queue_writer import QueueWriter
from tidegate.platform.webhook.secret_values import CurrentSecrets, secret_values

#: Seconds for which deliveries under way may end after a signal. Containers are killed after thirty.
_GRACE = 25
#: Connections of one port. Of more, those that say nothing are closed, and Uvicorn answers 503 to the others.
_MAX_CONNECTIONS = 4000
#: Seconds for which the answer of the queues counts, so that probes of readiness cost few requests.
_READY_SECONDS = 5.0
_PROBE_SECONDS = 8.0


class WebhookServer:
    """The server of the webhooks of a lake.

    Args:
        aws: reaches SQS.
        environ: has secrets.
        say: takes the lines of the log.

    Raises:
        BadSetting: a webhook cannot be verified.
    """

    def __init__(self, config: LakeConfig, aws: Aws, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._say = say
        secrets = _secrets(config.webhooks, environ)
        for webhook in config.webhooks:
            for why in filter(None, map(explain_exposure, webhook.secrets)):
                say(f"WARNING: webhook {webhook.name}: {why}")
        client = cache(aws.queues)
        specs = {webhook.queue: config.row_queue(webhook.queue) for webhook in config.webhooks}
        self._queues = [Queue(client(spec.region), spec.url or spec.name) for spec in specs.values()]
        self._writers = {queue.name: QueueWriter(queue.send_rows, say) for queue in self._queues}
        self._probe: tuple[float, asyncio.Task[str]] | None = None
        senders = {
            webhook.name: Sender(
                webhook,
                scheme_of(webhook.verification, webhook.header),
                CurrentSecrets(webhook, environ, secrets[webhook.name], say).values,
                self._writers[webhook.queue],
                RateLimit(webhook.rate, time.monotonic()),
            )
            for webhook in config.webhooks
        }
        self._application = Application(senders, self._describe_faults, say)

    def run(self, host: str, port: int, operations_port: int) -> None:
        """Answer requests until SIGTERM or SIGINT. Deliveries that are under way then are still answered.

        Args:
            host: address to listen on.
            port: port for the senders, 0 for a free one.
            operations_port: port for the operators of the server, 0 for a free one.

        Raises:
            OSError: the address cannot be used.
        """
        with _open_socket(host, port) as listener, _open_socket(host, operations_port) as inner:
            operations = _Operations(_config(self._application.operations()), self._say, inner)
            try:
                _Server(_config(self._application.public()), self._say, listener, operations).run([listener])
            except KeyboardInterrupt:
                pass  # Uvicorn raises the signal again after it has stopped in order.
            finally:
                for writer in self._writers.values():
                    writer.close()
        self._say("stopped")

    async def _describe_faults(self) -> str:
        """Return what is wrong with the queues. Probes that come together share one answer."""
        now = time.monotonic()
        if self._probe is None or now - self._probe[0] > _READY_SECONDS:
            self._probe = now, asyncio.ensure_future(self._probe_queues())
        return await asyncio.shield(self._probe[1])

    async def _probe_queues(self) -> str:
        async def find_fault(queue: Queue) -> str:
            try:
                await asyncio.wait_for(asyncio.to_thread(queue.require_sending), _PROBE_SECONDS)
            except ClientError as error:
                return f"queue {queue.name}: {error.response.get('Error', {}).get('Code', 'refused')}"
            except (BotoCoreError, TimeoutError) as error:
                return f"queue {queue.name}: {type(error).__name__}"
            return ""

        return "; ".join(filter(None, await asyncio.gather(*map(find_fault, self._queues))))


def max_connections() -> int:
    """Return how many connections a port may have, and let the process have as many files as it may.

    A third of the files is for each port, and one for queues and secrets: a process without a file to spare accepts no
    connection of anybody.
    """
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    return _MAX_CONNECTIONS if hard_limit == resource.RLIM_INFINITY else min(_MAX_CONNECTIONS, hard_limit // 3)


def _config(application: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=max_connections(),
        timeout_graceful_shutdown=_GRACE,
    )


class _Operations(uvicorn.Server):
    """The server for operators. It runs within another one, which handles the signals."""

    def __init__(self, config: uvicorn.Config, say: Callable[[str], None], listener: socket.socket) -> None:
        super().__init__(config)
        self._say, self._listener = say, listener

    async def begin(self) -> None:
        """Answer requests from now on."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup([self._listener])
        self._say(f"operations on {_address(self._listener)}")

    async def end(self) -> None:
        """Answer no more requests."""
        await self.shutdown([self._listener])


class _Server(uvicorn.Server):
    """Uvicorn's server, which says where it listens once it does, and runs another one for operators."""

    def __init__(
        self, config: uvicorn.Config, say: Callable[[str], None], listener: socket.socket, operations: _Operations
    ) -> None:
        super().__init__(config)
        self._say, self._listener, self._operations = say, listener, operations

    async def startup(self, sockets: Sequence[socket.socket] | None = None) -> None:
        await super().startup(list(sockets or ()))
        await self._operations.begin()
        self._say(f"listening on {_address(self._listener)} (process {os.getpid()})")

    async def shutdown(self, sockets: Sequence[socket.socket] | None = None) -> None:
        await super().shutdown(list(sockets or ()))
        await self._operations.end()


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _secrets(webhooks: Sequence[WebhookSpec], environ: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found, problems = {}, []
    for webhook in webhooks:
        found[webhook.name], wrong = secret_values(webhook, environ)
        problems += [f"webhook {webhook.name}: {problem}" for problem in wrong]
    if problems:
        raise BadSetting("\n".join(problems))
    return found


def _open_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener
