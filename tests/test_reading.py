"""Reading references: what is read when, from where, and what is said when it can not be."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from planning import HERE, deployment, flag, pool

from smgcfg import ConfigError, Deployment, Reference, load, read_references
from smgcfg.errors import Finding
from smgcfg.launch.run import check_host
from smgcfg.loading import Loaded, load_sources
from smgcfg.planning.plan import plan
from smgcfg.reading import Reader, with_references_read
from smgcfg.sources.overrides import Override
from smgcfg.toml_write import deployment_text

POOL = '[pools.chat]\nbackend = "tokenspeed"\nmodel = "org/m"\n'
KEY = Reference("env", "KEY")


def read(text: str, environ: Mapping[str, str] | None, *sets: str) -> Loaded:
    """Load a file given as text, with overrides."""
    overrides = [Override("set", text, at) for at, text in enumerate(sets, 10)]
    return load_sources([("d.toml", text.encode())], overrides=overrides, environ=environ)


def good(text: str, environ: Mapping[str, str], *sets: str) -> Deployment:
    """Load what must be without a problem."""
    loaded = read(text, environ, *sets)
    assert loaded.findings == ()
    assert loaded.deployment is not None
    return loaded.deployment


def said(findings: tuple[Finding, ...] | list[Finding]) -> list[str]:
    """Return findings as an operator reads them."""
    return [str(finding).partition("\n")[0] for finding in findings]


def test_what_a_plan_depends_on_is_read_with_the_file() -> None:
    """Numbers, switches, choices, names and one-word lists are read at once, each as the type that it has."""
    environ = {"N": "3", "ON": "yes", "SHARE": "0.5", "G": "none", "M": "org/x", "GPUS": "0-3", "NAME": "a", "H": "::1"}
    made = good(
        """
        name = { env = "NAME" }
        [pools.chat]
        backend = "tokenspeed"
        model = { env = "M" }
        served_model_name = { env = "NAME" }
        gpus = { env = "GPUS" }
        replicas = { env = "N" }
        engine = { enable_metrics = { env = "ON" }, gpu_memory_utilization = { env = "SHARE" }, seed = { env = "N" } }
        [gateway]
        host = { env = "H" }
        [launch]
        grace = { env = "N" }
        """,
        environ,
        'pools.chat.engine.grammar_backend={env="G"}',
    )
    one, engine = made.pools[0], made.pools[0].engine
    assert (made.name, one.model, one.served_model_name, one.replicas) == ("a", "org/x", ("a",), 3)
    assert one.gpus == ("0", "1", "2", "3")
    assert (engine.enable_metrics, engine.gpu_memory_utilization, engine.seed) == (True, 0.5, 3)
    assert (engine.grammar_backend, made.gateway.args.host, made.launch.grace) == ("none", "::1", 3.0)


def test_a_secret_is_left_where_it_is() -> None:
    """Secrets, items of secret lists and variables stay references, whether or not they could be read."""
    text = POOL + 'env = { T = { env = "T" } }\n[gateway]\ntenant_api_key = ["a:b", { file = "f" }]\n'
    made = good(text, {}, "gateway.api_key={ env = 'KEY' }", 'gateway.env.U={file="/u"}')
    assert made.gateway.args.api_key == KEY
    assert made.gateway.args.tenant_api_key == ("a:b", Reference("file", "f"))
    assert made.pools[0].env == (("T", Reference("env", "T")),)
    assert made.gateway.env == (("U", Reference("file", "/u")),)


@pytest.mark.parametrize("text", ["{env=KEY}", '{fil="/run/k"}', '{file="a",env="B"}', '{file="/tmp/x"', "{x=1}"])
def test_a_reference_that_is_mistyped_is_refused(text: str) -> None:
    """Text in braces that is no reference would go unnoticed as a key; JSON stays JSON, a placeholder a placeholder."""
    found = read(POOL, {}, f"gateway.api_key={text}").findings
    assert [finding.code for finding in found] == ["SMG003"]
    made = good(POOL, {}, 'pools.chat.engine.hf_overrides={"env": "KEY"}', "pools.chat.env.I={index}")
    assert made.pools[0].engine.hf_overrides.value == {"env": "KEY"}
    assert made.pools[0].env == (("I", "{index}"),)


def test_what_can_not_be_read_is_said_without_its_text() -> None:
    """A missing variable, a value of another type and one out of bounds are findings at their line, value unsaid."""
    text = POOL + 'port = { env = "P" }\nreplicas = { env = "R" }\nhost = { env = "H" }\n'
    text += '[pools.chat.engine]\ngrammar_backend = { env = "G" }\n'
    found = read(text, {"P": "s3cret", "R": "0", "G": "s3cret"}).findings
    none = "stands for is no such value"
    assert said(found) == [
        f"d.toml:4: error SMG018 pools.chat.port: expected an integer of 1 to 65535; what $P {none}",
        f"d.toml:5: error SMG018 pools.chat.replicas: expected an integer of at least 1; what $R {none}",
        "d.toml:6: error SMG018 pools.chat.host: the variable H is not set",
        "d.toml:8: error SMG018 pools.chat.engine.grammar_backend: expected one of xgrammar, llguidance, none; "
        f"what $G {none}",
    ]
    assert said(read(POOL + 'port = { env = "P" }\n', None).findings) == [
        "d.toml:4: error SMG018 pools.chat.port: $P is not read here"
    ]


@pytest.mark.parametrize(
    "text",
    [
        POOL.replace('"tokenspeed"', '{ env = "B" }'),
        POOL + 'wrapper = { env = "W" }\n',
        POOL + '[pools.chat.engine]\ndisable_prefix_caching = { env = "W" }\n',
        POOL + '[pools.chat.engine]\nextra = { env = "W" }\n',
        POOL + '[pools.chat.engine]\ncudagraph_capture_sizes = [{ env = "W" }]\n',
        POOL + "[gateway]\napi_key = { env = 1 }\n",
        POOL + '[gateway]\napi_key = { env = "A", file = "b" }\n',
    ],
)
def test_a_reference_stands_for_one_value(text: str) -> None:
    """A backend, a list, an item of one that is no secret, an opposite and half a reference are refused."""
    assert [finding.code for finding in read(text, {"B": "tokenspeed", "W": "1"}).findings][:1] == ["SMG003"]


def test_a_file_is_relative_to_the_file_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """./ is where the deployment file is, for a reference as for every path, and the variables are this process's."""
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "d.toml").write_text(
        '[pools.a]\nbackend = "tokenspeed"\nmodel = { file = "./m" }\nreplicas = { env = "SMGCFG_TEST_N" }\n'
        '[gateway]\napi_key = { file = "../k" }\n'
    )
    (tmp_path / "deploy" / "m").write_text("org/m\n")
    monkeypatch.setenv("SMGCFG_TEST_N", "2")
    monkeypatch.chdir(tmp_path)
    made = load("deploy/d.toml")
    assert (made.pools[0].model, made.pools[0].replicas) == ("org/m", 2)
    assert made.gateway.args.api_key == Reference("file", "./k")


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"k", "k"), (b"k\n", "k"), (b"k\r\n", "k"), (b"k\n\n", "k\n"), (b" k ", " k "), ("ä".encode(), "ä"), (b"", "")],
)
def test_one_newline_at_the_end_of_a_file_is_no_part_of_it(tmp_path: Path, data: bytes, text: str) -> None:
    """A file gives its text without the one newline that editors write; everything else stays."""
    (tmp_path / "k").write_bytes(data)
    assert Reader({})(Reference("file", str(tmp_path / "k"))) == text


def unread(made: Deployment, environ: Mapping[str, str]) -> list[str]:
    """Return why a deployment's secrets can not be read."""
    with pytest.raises(ConfigError) as refused:
        read_references(made, environ)
    return said(list(refused.value.findings))


def test_every_secret_that_can_not_be_read_is_said(tmp_path: Path) -> None:
    """Missing, empty, too long, no UTF-8, a NUL: one report, nothing of what was read in it."""
    for name, data in {"nul": b"a\0s3cret", "latin": b"s3cret\xff", "long": b"s3cret" * 20000, "dir": None}.items():
        (tmp_path / name).mkdir() if data is None else (tmp_path / name).write_bytes(data)
    files = {name: Reference("file", str(tmp_path / name)) for name in ("nul", "latin", "long", "dir", "none")}
    made = deployment(
        pool(env=tuple((name.upper(), reference) for name, reference in files.items())),
        gateway={"api_key": KEY, "tenant_api_key": ("a:b", Reference("env", "EMPTY"))},
    )
    assert unread(made, {"EMPTY": ""}) == [
        "error SMG018 pools.chat.env.NUL: a NUL character can not stand in a command line",
        f"error SMG018 pools.chat.env.LATIN: the file {str(tmp_path / 'latin')!r} is not UTF-8",
        f"error SMG018 pools.chat.env.LONG: the file {str(tmp_path / 'long')!r} has more than 65536 bytes",
        f"error SMG018 pools.chat.env.DIR: the file {str(tmp_path / 'dir')!r} can not be read: is a directory",
        f"error SMG018 pools.chat.env.NONE: the file {str(tmp_path / 'none')!r} can not be read: "
        "no such file or directory",
        "error SMG018 gateway.api_key: the variable KEY is not set",
        "error SMG018 gateway.tenant_api_key: what $EMPTY stands for is empty",
    ]


def test_a_plan_is_launched_only_when_everything_is_read() -> None:
    """A plan shows references and has none of their texts; what is read has them in the words, shows them nowhere, and
    compares keys by them; a launch refuses the first."""
    made = deployment(
        pool(env=(("HF_TOKEN", Reference("env", "HF")),)),
        gateway={"api_key": KEY, "redis_url": Reference("env", "URL"), "history_backend": "redis"},
    )
    before = plan(made, HERE).plan
    after = plan(read_references(made, {"KEY": "-s3cret", "HF": "s3cret", "URL": "s3cret:1"}), HERE).plan
    assert before is not None
    assert after is not None
    assert flag(before.gateway.argv, "--api-key") == "$KEY"
    assert [str(reference) for spec in before.processes for reference in spec.unread] == ["$KEY", "$URL", "$HF"]
    with pytest.raises(ConfigError) as refused:
        check_host(before)
    assert {finding.code for finding in refused.value.findings} == {"SMG018"}
    assert after.api_key == "-s3cret"
    assert "--api-key=-s3cret" in after.gateway.argv
    assert dict(after.workers[0].env)["HF_TOKEN"] == "s3cret"
    assert dict(after.gateway.env)["REDIS_URL"] == "s3cret:1"
    assert not any("REDIS" in word or "s3cret:1" in word for word in after.gateway.argv)
    assert "s3cret" not in repr(after)
    for process in after.processes:
        assert process.unread == ()
        assert "s3cret" not in str(process.redacted().argv) + str(process.redacted().env)


def test_an_admin_key_is_found_once_it_is_read() -> None:
    """The key for `/workers` is that of a control-plane key that stands elsewhere."""
    made = deployment(gateway={"control_plane_api_keys": (KEY,), "api_key": "x"})
    read = plan(read_references(made, {"KEY": "i:n:admin:s3cret"}), HERE).plan
    assert read is not None
    assert read.api_key == "s3cret"
    before = plan(made, HERE).plan
    assert before is not None
    assert before.api_key is None


def test_rules_see_what_a_reference_stands_for_and_do_not_say_it() -> None:
    """A rule across settings waits until a reference is read, and then reports without its text."""
    made = deployment(gateway={"tenant_api_key": ("a:s3cret",), "api_key": KEY})
    assert plan(made, HERE).findings == ()
    found = plan(read_references(made, {"KEY": "s3cret"}), HERE).findings
    assert [finding.code for finding in found] == ["SMG014"]
    assert "s3cret" not in str(found)


def test_a_file_that_everybody_may_read_is_named(tmp_path: Path) -> None:
    """The permissions of a file with a secret are looked at when it is read; the launch goes on."""
    paths = [tmp_path / "open", tmp_path / "closed"]
    for path, mode in zip(paths, (0o644, 0o600), strict=True):
        path.write_text("k")
        os.chmod(path, mode)
    reader = Reader({})
    made = deployment(pool(env=tuple((f"N{at}", Reference("file", str(path))) for at, path in enumerate(paths))))
    assert with_references_read(made, reader)[1] == []
    assert [(finding.code, finding.severity, finding.key) for finding in reader.findings()] == [
        ("SMG019", "warning", str(paths[0]))
    ]


def test_a_deployment_is_saved_with_its_references() -> None:
    """What was read with the file is written as the reference that stood there, too."""
    text = POOL + 'port = { env = "P" }\n[gateway]\nport = { env = "P" }\napi_key = { env = "KEY" }\n'
    loaded = read(text, {"P": "31000"})
    assert loaded.deployment is not None
    written = deployment_text(loaded.deployment, loaded.references)
    assert "31000" not in written
    assert read(written, {"P": "31000"}).deployment == loaded.deployment
    assert good(written, {"P": "31007"}).pools[0].port == 31007


def test_one_setting_has_one_place() -> None:
    """A variable in the gateway's table that says another value than the setting is an error."""
    gateway = {"redis_url": "redis://a", "redis_pool_max": 3}
    bad = plan(deployment(gateway=gateway, env=(("REDIS_URL", "redis://b"),)), HERE)
    assert [(finding.code, finding.key) for finding in bad.findings] == [("SMG009", "gateway.env.REDIS_URL")]
    assert plan(deployment(gateway=gateway, env=(("REDIS_URL", "redis://a"),)), HERE).findings == ()


def test_a_pipe_is_no_secret(tmp_path: Path) -> None:
    """A reference to a pipe is refused at once, and nobody waits for a writer."""
    os.mkfifo(tmp_path / "pipe")
    loaded = load_sources(
        [
            (
                "a.toml",
                b'[pools.a]\nbackend = "tokenspeed"\nmodel = "m"\nport = { file = "%s" }\n' % bytes(tmp_path / "pipe"),
            )
        ],
        environ={},
    )
    assert [finding.code for finding in loaded.findings] == ["SMG018"]
