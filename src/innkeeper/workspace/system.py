"""The machine's clock and randomness, as the inside asks for them (`ports.clock`, `ports.ids`; architecture §3.1)."""

import os
import time
import uuid
from datetime import UTC, datetime


class SystemClock:
    """`ports.clock.Clock` of this machine."""

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()


class RandomIds:
    """`ports.ids.Ids` as version 4 UUIDs of the system's random source."""

    def new(self) -> str:
        return str(uuid.UUID(bytes=os.urandom(16), version=4))
