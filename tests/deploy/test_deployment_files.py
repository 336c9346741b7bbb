"""The files of deploy/ are complete and accepted by the programs that read them."""

import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.command_line import PROCESS_SECONDS, ROOT

DEPLOY = ROOT / "deploy"
INSTALLED_AT = "/opt/affiliate-site"


def find_program(name: str) -> str:
    """Return the path of a program of the system or of the virtual environment."""
    path = shutil.which(name) or shutil.which(name, path=str(ROOT / ".venv/bin"))
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def run(*command: str) -> str:
    """Return the output of a program that must succeed."""
    process = subprocess.run(  # noqa: S603 - our own commands
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
    )
    output = process.stdout + process.stderr
    assert process.returncode == 0, output
    return output


def test_every_variable_is_in_the_example():
    names = set(
        re.findall(
            r"get_(?:text|secret|boolean|integer|choice|list"
            r'|hosts_with_ports)\(\s*"([A-Z_]+)"',
            (ROOT / "affiliate_site/env.py").read_text(),
        )
    )
    example = re.findall(r"(?m)^#?([A-Z_]+)=", (DEPLOY / "env.example").read_text())

    assert len(names) > 15
    assert names - set(example) == set()


def test_the_printed_commands_write_the_environment(tmp_path):
    """The shell reads it like systemd; PASSWORD has what means something to a shell."""
    guide = (ROOT / "docs/operations.md").read_text()
    command = re.search(r"(?ms)^sed -e .*?deploy/env\.example", guide)[0]
    script = f"""
        HOST_NAME=a.example.org PASSWORD='p$q;r'
        {command} | sed 's/^DATABASE_URL=.*[^/]site/&?a=b\\&c=d/' > {tmp_path}/env
        set -a; . {tmp_path}/env
        printf '%s\\n' "$DATABASE_URL" "$PUBLIC_URL" "$ALLOWED_HOSTS" \
            "$SECRET_KEY" "$ENCRYPTION_KEYS"
    """
    output = run("sh", "-ec", f"cd {ROOT}; {script}")
    database, url, hosts, key, encryption_key = output.split()

    assert database == ("postgres://affiliate_site:p$q;r@127.0.0.1:5432/affiliate_site?a=b&c=d")
    assert (url, hosts) == ("https://a.example.org", "a.example.org")
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert len(b64decode(encryption_key)) == 32


def test_the_first_affiliate_earns(db, client):
    """The printed commands and requests, in their order."""
    guide = (ROOT / "docs/operations.md").read_text()
    for line in re.findall(r"(?m)^(?:KEY=\$\()?manage (create_[^)\n]*)", guide):
        key = io.StringIO()
        call_command(*shlex.split(line), stdout=key)
    key = key.getvalue().strip()
    *people, (path, sale) = re.findall(r"\$HOST_NAME(/1.6/\S+) -d '(.*)'", guide)

    def post(path, body):
        return client.post(path, body, "application/json", headers={"X-Api-Key": key})

    answers = [post(*request) for request in people]
    code = answers[-1].json()["referral_link"]["link"].rpartition("ref=")[2]
    answers.append(post(path, sale.replace("REF", code)))

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[-1].json()["commissions"][0]["amount"] == 4.99


def test_directories_that_the_service_writes_to_belong_to_it():
    guide = (ROOT / "docs/operations.md").read_text()
    owned = re.findall(r"(?m)^install -d .*-o affiliate-site.* (\S+)$", guide)

    assert set(owned) == {"var", "staticfiles"}


@pytest.mark.parametrize("unit", sorted(DEPLOY.glob("systemd/*.*")), ids=lambda p: p.name)
def test_systemd_accepts_the_units(unit, tmp_path):
    analyze = find_program("systemd-analyze")
    for path in DEPLOY.glob("systemd/*.*"):
        text = path.read_text().replace(INSTALLED_AT, str(ROOT))
        (tmp_path / path.name).write_text(text)

    output = run(analyze, "verify", "--man=no", str(tmp_path / unit.name))

    assert [line for line in output.splitlines() if "affiliate-site" in line] == []


def test_units_name_files_that_exist():
    for path in DEPLOY.glob("systemd/*.service"):
        command = re.search(r"(?m)^ExecStart=(\S+)", path.read_text())[1]
        relative = Path(command).relative_to(INSTALLED_AT)
        # The first part of the virtual environment is made by the installation.
        assert relative.parts[0] == ".venv" or (ROOT / relative).is_file(), path


def test_nightly_goes_on_and_names_each_command_that_fails():
    environment = {"PYTHON": "false", "DATABASE_URL": "x", "PATH": os.defpath}
    done = subprocess.run(  # noqa: S603 - our own script
        [str(DEPLOY / "nightly")], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "failed: manage.py prune",
        "failed: manage.py grant_bonuses",
        "failed: manage.py check_ledger --note",
    ]


def test_docker_compose_accepts_the_file():
    compose = find_program("docker-compose")

    output = run(compose, "-f", str(DEPLOY / "compose.yaml"), "config", "--services")

    assert set(output.split()) == {
        "database", "migrate", "nightly", "proxy", "secrets", "web", "worker",
    }  # fmt: skip


def test_hadolint_accepts_the_dockerfile():
    run(find_program("hadolint"), str(DEPLOY / "Dockerfile"))


def test_the_image_gets_everything_that_the_service_reads():
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text()
    needed = {
        "accounts",
        "tracking",
        "payouts",
        "affiliate_site",
        "templates",
        "docs",
        "deploy",
    }
    needed |= {"manage.py", "openapi.json", "integrations/first-party"}

    assert {name for name in needed if not re.search(rf"COPY .*\b{name}\b", dockerfile)} == set()
    assert {name for name in needed if f"\n!{name}\n" not in ignore} == set()


def test_the_image_can_serve_metrics():
    packages = (DEPLOY / "requirements.txt").read_text()
    service = (ROOT / "requirements.txt").read_text()

    assert "COPY deploy/requirements.txt" in (DEPLOY / "Dockerfile").read_text()
    assert "\nprometheus-client==" in packages
    assert list_pins(service) < list_pins(packages)
    assert "env_file:" in (DEPLOY / "compose.yaml").read_text()


def list_pins(requirements):
    return set(re.findall(r"(?m)^[\w.\[\]-]+==\S+", requirements))


def test_secrets_of_the_compose_file_are_created_once(tmp_path):
    main = runpy.run_path(str(DEPLOY / "create_secrets.py"))["main"]

    (tmp_path / "secret_key.partial").write_text("half")  # of a killed process

    main(tmp_path)
    first = {path.name: path.read_text() for path in tmp_path.iterdir()}
    main(tmp_path)
    second = {path.name: path.read_text() for path in tmp_path.iterdir()}

    assert set(first) == {*("database_password", "database_url", "secret_key", "encryption_keys")}
    assert len(b64decode(first["encryption_keys"])) == 32
    assert first["database_password"] in first["database_url"]
    assert len(first["secret_key"]) > 50
    assert second == first
