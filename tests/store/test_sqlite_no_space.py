"""A file that may not grow: batches fail, the log goes on when space returns (architecture §7; issue §4)."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, json, resource, sys
from pathlib import Path
from innkeeper.ports.log import Batch, PutChannel, PutEnvelope, Reserve, StoreError
from innkeeper.store.sqlite import SqliteLog

FREE = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, FREE))

async def put(log, epoch, *ops):
    answer = asyncio.get_running_loop().create_future()
    log.submit(Batch(epoch, ops), answer.set_result)
    error = await asyncio.wait_for(answer, 5)
    return None if error is None else [type(error).__name__, error.code, str(error)]

def envelopes(first, count):
    return [PutEnvelope(s, "ahp-root://", b"x" * 1000, s - 1) for s in range(first, first + count)]

async def run(path):
    said = {}
    log = SqliteLog(path)
    await log.open()
    await put(log, 0, PutChannel("ahp-root://", "root", None, 0, b"{}", created=True), Reserve(5000))
    limit(300_000)
    last, error = 0, None
    while error is None and last < 5000:
        error = await put(log, 0, *envelopes(last + 1, 10))
        last += 0 if error else 10
    said["full"], said["stored"] = error, last
    said["still full"] = await put(log, 1, *envelopes(last + 1, 10))
    limit(FREE)
    said["recovered"] = await put(log, 2, *envelopes(last + 1, 10))
    limit(0)
    try:
        await log.close(last_seq=last + 10)
        said["close"] = None
    except StoreError as failed:
        said["close"] = failed.code
    try:
        await SqliteLog(path).open()
        said["open"] = None
    except StoreError as failed:
        said["open"] = failed.code
    limit(FREE)
    log = SqliteLog(path)
    image = await log.open()
    said["window"], said["gaps"] = len(image.window), image.gaps
    await log.close(last_seq=last + 10)
    return said

said = asyncio.run(run(Path(sys.argv[1])))
print(json.dumps(said))
"""


def test_a_file_size_limit_refuses_batches_until_it_is_lifted(tmp_path: Path) -> None:
    path = tmp_path / "innkeeper.db"
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    for error in (said["full"], said["still full"]):
        assert error[:2] == ["StoreFull", "STORAGE_FULL"] and str(path) in error[2]
    assert 0 < said["stored"] < 5000
    assert said["recovered"] is None
    assert said["close"] == "STORAGE_FULL"
    assert said["open"] in ("STORAGE_FULL", "DATABASE_UNREADABLE")
    last = said["stored"] + 10
    assert said["window"] == last
    assert said["gaps"] == [[last + 1, 5000]]
