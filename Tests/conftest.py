import os
import shutil

import pytest

import running


def pytest_sessionstart(session):
    if not running.PROGRAM.exists():
        raise pytest.UsageError(f"{running.PROGRAM} is missing: run `make build`, or name a program in HIROBA_TEST_PROGRAM")
    for tool in ("curl", "psql", "openssl"):
        if not shutil.which(tool):
            raise pytest.UsageError(f"{tool} is missing: run scripts/install-dependencies --tests")
    # Whatever is tested, passwords and proxies of this machine stay out of it.
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "PGPASSWORD"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def postgres():
    """One cluster for the whole run."""
    cluster = running.Postgres()
    yield cluster
    cluster.remove()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def hiroba(request):
    """A running server, shared by the tests of a file; each file meets it on both databases."""
    database = request.getfixturevalue("postgres").new_database() if request.param == "postgres" else None
    server = running.Hiroba(database)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def start(request):
    """Starts servers of one's own: `start()` gives a `Hiroba` that is stopped, cleanly, when the test ends."""
    servers = []

    def start(**options):
        if request.param == "postgres" and "database" not in options:
            options["database"] = request.getfixturevalue("postgres").new_database()
        server = running.Hiroba(**options)
        servers.append(server)
        return server.start()

    start.kind = request.param
    yield start
    for server in servers:
        server.close()
