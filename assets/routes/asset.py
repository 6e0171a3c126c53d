"""External assets: the routes, each after the queues whose events it forwards."""

import time
from collections.abc import Iterator

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.shared_checks import check_of_each
from tidegate.assets.routes.report import CHECK, route_state
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.resources.lake_resource import LakeResource, with_lake


def route_assets(config: LakeConfig) -> list[dg.AssetSpec]:
    """Build an external asset for each route. The sensor `forward` reports its materializations."""
    names = LakeNames.from_config(config)
    return [
        dg.AssetSpec(
            names.route(route.name),
            deps=[names.queue(queue.name) for queue in config.queues],
            group_name=names.name("routes"),
            owners=list(route.owners),
            kinds={"sns"} if route.topic else {"s3"} if route.acts else {"sqs"},
            description=f"{_destination(route)} The sensor `forward` sends the messages of the outbox.",
            metadata={"destination": _address(route), "types": ", ".join(route.types) or "every event"},
        )
        for route in config.routes
    ]


def build_route_checks(config: LakeConfig) -> list[dg.AssetChecksDefinition]:
    """Build the check `delivered` of each route. The sensor `forward` evaluates it, and a user may."""
    names = LakeNames.from_config(config)
    routes = {names.route(route.name): route for route in config.routes}
    if not routes:
        return []

    @check_of_each(
        routes,
        CHECK,
        "No event waits for its delivery for longer than the route's max_lag.",
        name=names.name("routes"),
        description="Lists the outbox of the routes.",
    )
    @with_lake(names.resource)
    def route_checks(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        outbox = lake.open().store.outbox
        for key in context.selected_asset_check_keys:
            route = routes[key.asset_key]
            yield route_state(outbox, route, time.time(), outbox.lanes_of(route.name)).check(key.asset_key)

    return [route_checks]


def _destination(route: RouteSpec) -> str:
    if route.topic:
        return "Events that are published to an SNS topic."
    if route.queue:
        return "Events that are sent to an SQS queue."
    if route.tag:
        return "Events whose objects are tagged."
    if route.unwrap:
        return f"JSON arrays whose elements are written as JSON lines to {route.unwrap}."
    return (
        f"Events that are sent to each SQS queue whose tag {route.queues_tagged} has the event's type, and to "
        f"{route.unmatched} if there is no such queue."
    )


def _address(route: RouteSpec) -> str:
    if route.queue:
        return route.queue.url or route.queue.name
    if route.acts:
        return route.unwrap or ", ".join(route.tag or {})
    return route.topic or f"queues with the tag {route.queues_tagged}"
