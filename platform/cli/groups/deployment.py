"""Commands that write and check a configuration and what has to be around it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.options import AsJson, LakeFile, RunningHome
from tidegate.platform.cli.terminal import command_console
from tidegate.platform.core.config.commits import Commits

deployment = typer.Typer()


@deployment.command()
def infer(
    address: Annotated[str, typer.Argument(help="s3://bucket/prefix, or a folder of this machine.")],
    bucket: Annotated[
        str | None, typer.Option(help="Bucket that will have the files of a folder of this machine; default: landing.")
    ] = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Print a first lake.yaml, inferred from existing files. Exit code 1 if some files could not be loaded together."""
    from tidegate.platform.cli.commands.infer import run_infer

    if not run_infer(command_console(), address, home, bucket=bucket, as_json=as_json):
        raise typer.Exit(1)


@deployment.command()
def check(
    address: Annotated[str | None, typer.Argument(help="s3://bucket/key: print which table takes it, and why.")] = None,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: AsJson = False,
) -> None:
    """Check that the configuration is valid, that everything can be reached, and which permissions are missing."""
    from tidegate.platform.cli.check.check import run_check

    if not run_check(command_console(), lake, home, address, as_json=as_json):
        raise typer.Exit(1)


@deployment.command()
def doctor(
    lake: LakeFile = None,
    home: RunningHome = None,
    repair: Annotated[
        bool, typer.Option(help="First settle what dead writers left, and delete old staged commits.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check which log store is active and that every table's log is in order. Exit code 1 if not."""
    from tidegate.platform.cli.commands.doctor import run_doctor

    if not run_doctor(command_console(), lake, home, repair=repair, as_json=as_json):
        raise typer.Exit(1)


@deployment.command()
def policy(
    role: Annotated[
        str,
        typer.Argument(
            help="dagster, spark, operator (the person who runs commands), reader (a person who only looks), "
            "tables (an engine that reads tables from S3), webhook; or buckets: policies of source buckets that keep "
            "producers out of the logs of registered tables."
        ),
    ],
    writer: Annotated[
        list[str] | None,
        typer.Option(help="For buckets: the ARN of a role that may write these logs. Repeat it for each role."),
    ] = None,
    lake: LakeFile = None,
) -> None:
    """Print the IAM policy that a role needs for your lake.yaml."""
    from tidegate.platform.cli.commands.policies import run_policy
    from tidegate.platform.cli.environment import lake_file

    run_policy(role, lake_file(lake), writer or ())


@deployment.command()
def stack(
    create: Annotated[
        list[str] | None,
        typer.Option(help="A source bucket that the stack makes, with its notifications. Repeat it for each bucket."),
    ] = None,
    trust: Annotated[
        str, typer.Option(help="Where the processes run: ec2, ecs, or eks:CLUSTER/NAMESPACE/SERVICEACCOUNT.")
    ] = "ec2",
    notification: Annotated[
        str | None,
        typer.Option(help="Only print the notifications of this source bucket: those it has, and those of the lake."),
    ] = None,
    lake: LakeFile = None,
) -> None:
    """Print a CloudFormation template with everything that your lake.yaml needs on AWS."""
    from tidegate.platform.cli.commands.cloudformation import print_notification, run_stack_template
    from tidegate.platform.cli.environment import lake_file

    if notification is not None:
        print_notification(lake, notification)
    else:
        run_stack_template(lake_file(lake), create or (), trust)


@deployment.command()
def prove(
    policy: Annotated[bool, typer.Option("--policy", help="Only print the IAM policy that the command needs.")] = False,
    files: Annotated[int, typer.Option(min=60, max=20_000, help="Number of files to land.")] = 1000,
    quick: Annotated[bool, typer.Option("--quick", help="Kill fewer workers, and race less.")] = False,
    commits: Annotated[
        Commits, typer.Option(help="How commits are coordinated: `lake.commits` of lake.yaml.")
    ] = "dynamodb",
    spark_remote: Annotated[
        str | None, typer.Option(help="A Spark server that runs, sc://host:port; default: one of the run's own.")
    ] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Do not begin if it could spend more dollars.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Begin, or remove, without a question.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything that the run made.")] = False,
    report: Annotated[Path, typer.Option(help="Folder for the report, as HTML and as JSON.")] = Path(),
    with_names: Annotated[
        bool, typer.Option("--with-names", help="Let the report have names of buckets and the account.")
    ] = False,
    clean: Annotated[bool, typer.Option("--clean", help="Only remove what earlier runs left.")] = False,
    run: Annotated[str | None, typer.Option(help="With --clean: the id of a run to remove, whatever its age.")] = None,
    home: Annotated[Path, typer.Option(help="Folder for the local files of the runs.")] = Path(".tidegate/prove"),
) -> None:
    """Prove Tidegate in your own account or at your endpoint, and remove it again. Exit code 1 unless all claims held.

    It makes a lake of its own, lands files with all that goes wrong, kills its workers, forgets a person, and compares
    every row with an oracle.
    """
    from tidegate.platform.cli.commands.prove import Wish, ask_person, print_policy, run_prove
    from tidegate.platform.cli.commands.prove_clean import run_prove_clean

    if run is not None and not clean:
        raise CommandError("--run is the id of a run to remove: add --clean")
    if policy:
        print_policy()
        return
    console = command_console(markup=True)
    if clean:
        done = run_prove_clean(console, home, run, (lambda _: True) if yes else ask_person)
    else:
        wish = Wish(files, quick, keep, with_names, report, budget, yes, home, commits, spark_remote)
        done = run_prove(console, wish, ask_person)
    if not done:
        raise typer.Exit(1)


@deployment.command()
def alarms(lake: LakeFile = None) -> None:
    """Print a CloudFormation template with the alarms of your lake.yaml, which must have `metrics: cloudwatch`."""
    from tidegate.platform.cli.commands.alarms import run_alarms
    from tidegate.platform.cli.environment import lake_file

    run_alarms(lake_file(lake))


@deployment.command()
def subscribe(
    route: Annotated[str, typer.Argument(help="Name of a route of your lake.yaml.")],
    account: Annotated[str, typer.Option(help="AWS account of the team that wants the events.")],
    queue: Annotated[str, typer.Option(help="Name of the team's queue; default: made of the destination.")] = "",
    types: Annotated[str, typer.Option(help="Event types, separated by commas; default: those of the route.")] = "",
    lake: LakeFile = None,
) -> None:
    """Print the policies and calls with which another team gets the events of a route."""
    from tidegate.platform.cli.commands.subscribe import run_subscribe
    from tidegate.platform.cli.environment import lake_file

    run_subscribe(route, account, queue, types, lake_file(lake))


@deployment.command()
def dagster_yaml(
    fork: Annotated[
        bool,
        typer.Option("--fork", help="With Tidegate's launcher and queue: cheaper runs, for processes of one machine."),
    ] = False,
    postgres: Annotated[
        bool,
        typer.Option("--postgres", help="With runs in PostgreSQL, at the address of DAGSTER_PG_HOST and its like."),
    ] = False,
    guest: Annotated[
        bool, typer.Option("--guest", help="Print what to add to an instance that others use too. It limits no others.")
    ] = False,
) -> None:
    """Print the dagster.yaml that Tidegate is tested with, for the DAGSTER_HOME of your own deployment."""
    from tidegate.platform.local.instance_config import guest_config, instance_config

    if guest and (fork or postgres):
        raise typer.BadParameter(
            "an instance that others use too keeps its own launcher, queue and storage: leave the other options out"
        )
    print(guest_config() if guest else instance_config(fork=fork, postgres=postgres), end="")
