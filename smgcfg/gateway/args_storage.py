"""Where conversations are stored, and what may be plugged in."""

from typing import Literal

from smgcfg.flags import flag
from smgcfg.gateway.limits import NATURAL, ORACLE, POSITIVE, POSTGRES, REDIS
from smgcfg.gateway.versions import V1130
from smgcfg.groups import group
from smgcfg.reference import Text


@group(kw_only=True)
class StorageSettings:
    """Where conversations are stored, and what may be plugged in."""

    __slots__ = ()

    # plug-ins
    mcp_config_path: str | None = flag("file that lists the tool servers")
    enable_wasm: bool | None = flag("allow WebAssembly plug-ins")
    storage_hook_wasm_path: str | None = flag("plug-in that is asked on every access to the storage")
    storage_context_headers: tuple[str, ...] | None = flag(
        "headers that the plug-in sees, each header=name", extends=True
    )

    # conversations
    history_backend: Literal["memory", "none", "oracle", "postgres", "redis"] | None = flag(
        "where conversations and responses are stored"
    )
    history_memory_max_responses: int | None = flag("most responses kept in memory", limits=POSITIVE, versions=V1130)
    history_memory_max_items: int | None = flag(
        "most conversation items kept in memory", limits=POSITIVE, versions=V1130
    )
    history_memory_retention_secs: int | None = flag(
        "seconds they are kept in memory; 0 keeps them", limits=NATURAL, versions=V1130
    )
    schema_config: str | None = flag("file that renames tables and columns")

    # Oracle
    oracle_wallet_path: str | None = flag("folder of the wallet", env="ATP_WALLET_PATH")
    oracle_tns_alias: str | None = flag("name of the database in tnsnames.ora", env="ATP_TNS_ALIAS")
    oracle_connect_descriptor: Text | None = flag("how to connect, in full", secret=True, env="ATP_DSN")
    oracle_username: Text | None = flag("user name", env="ATP_USER")
    oracle_password: Text | None = flag("password", secret=True, env="ATP_PASSWORD")
    oracle_external_auth: bool | None = flag("let the system authenticate", env="ATP_EXTERNAL_AUTH")
    oracle_pool_min: int | None = flag("fewest connections", limits=POSITIVE, limits_when=ORACLE, env="ATP_POOL_MIN")
    oracle_pool_max: int | None = flag("most connections", env="ATP_POOL_MAX")
    oracle_pool_timeout_secs: int | None = flag(
        "seconds to wait for a connection", limits=POSITIVE, limits_when=ORACLE, env="ATP_POOL_TIMEOUT_SECS"
    )

    # PostgreSQL
    postgres_db_url: Text | None = flag("URL of the database", secret=True, env="POSTGRES_DB_URL")
    postgres_pool_max: int | None = flag(
        "most connections", limits=POSITIVE, limits_when=POSTGRES, env="POSTGRES_POOL_MAX"
    )
    postgres_op_timeout_secs: int | None = flag(
        "seconds one operation may take",
        limits=POSITIVE,
        limits_when=POSTGRES,
        env="POSTGRES_OP_TIMEOUT_SECS",
        versions=V1130,
    )

    # Redis
    redis_url: Text | None = flag("URL of the server", secret=True, env="REDIS_URL")
    redis_pool_max: int | None = flag("most connections", limits=POSITIVE, limits_when=REDIS, env="REDIS_POOL_MAX")
    redis_retention_days: int | None = flag("days that records are kept; -1 keeps them", env="REDIS_RETENTION_DAYS")
    redis_op_timeout_secs: int | None = flag(
        "seconds one operation may take",
        limits=POSITIVE,
        limits_when=REDIS,
        env="REDIS_OP_TIMEOUT_SECS",
        versions=V1130,
    )
