from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

import weft
from weft.errors import BadInput, WrongSchedule
from weft.formats import files
from weft.formats.files import read_schedule


@pytest.fixture
def ring() -> weft.Schedule:
    return weft.classic.ring_allreduce(weft.allreduce(4))


@pytest.mark.parametrize("name", ["ring.json", "ring.json.gz"])
def test_what_is_saved_can_be_loaded(tmp_path, ring, name):
    weft.save(ring, tmp_path / name)
    assert weft.load(tmp_path / name) == ring
    assert weft.load(str(tmp_path / name), weft.find_topology("ring:4")) == ring


def test_compressed_files_are_the_same_bytes_every_time(tmp_path, ring):
    weft.save(ring, tmp_path / "one.gz")
    weft.save(ring, tmp_path / "two.gz")
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_text_files_are_schedules_too(tmp_path, ring):
    path = tmp_path / "ring.txt"
    path.write_text(weft.format_text(ring))
    assert weft.load(path) == ring


def test_a_link_is_followed_and_a_device_stays(tmp_path, ring):
    (tmp_path / "link.json").symlink_to("real.json")
    weft.save(ring, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert weft.load(tmp_path / "real.json") == ring
    weft.save(ring, "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path, ring):
    path = tmp_path / "ring.txt"
    path.write_text(weft.format_text(ring), encoding="utf-8-sig")
    assert weft.load(path) == ring


def test_what_is_loaded_is_verified(tmp_path, ring):
    path = tmp_path / "broken.txt"
    path.write_text(weft.format_text(ring).rsplit("\n", 2)[0])
    with pytest.raises(WrongSchedule):
        weft.load(path)
    assert len(read_schedule(path)) == len(ring) - 1
    with pytest.raises(WrongSchedule):
        weft.load(_saved(tmp_path, ring), weft.find_topology("mesh:4"))


def _saved(folder: Path, schedule: weft.Schedule) -> Path:
    weft.save(schedule, folder / "saved.json")
    return folder / "saved.json"


def bomb() -> bytes:
    return gzip.compress(b" " * 200_000, mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the text is empty"),
        (b"\xff\xfe\x00", "neither JSON nor text: byte 0 is not UTF-8"),
        (b"{", "not a valid weft-schedule file"),
        (gzip.compress(b"{", mtime=0)[:-9], "ends in the middle of its compressed data"),
        (b"\x1f\x8b" + b"junk" * 9, "not valid gzip data"),
        (2 * gzip.compress(b"{}", mtime=0), "something behind its compressed data"),
        (b" [1]", "not a valid weft-schedule file"),
        (bomb(), "holds more than the 100000 bytes"),
        (b" " * 100_001, "holds more than the 100000 bytes"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(files, "MOST_BYTES", 100_000)
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message) as caught:
        read_schedule(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_many_bombs_are_no_better_than_one(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 300_000)
    for rank in range(2):
        (tmp_path / f"x.{rank}.et.gz").write_bytes(bomb())
    with pytest.raises(BadInput, match="files of all ranks hold more than 300000 bytes"):
        read_schedule(tmp_path / "x.0.et.gz")


def test_a_bomb_is_not_unpacked_to_be_measured(monkeypatch):
    """Only as much as may be read is ever in memory."""
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    unpacked = files._unpacked(zlib.compress(b" " * 10**7, wbits=31))  # noqa: SLF001 - what is asked
    assert len(unpacked) == 1001


@pytest.mark.parametrize("name", ["nowhere.json", "", "folder/", "a\0b"])
def test_a_file_that_cannot_be_opened(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match="cannot be read"):
        weft.load(f"{tmp_path}/{name}")


def test_a_file_is_written_whole_or_not_at_all(tmp_path, ring, monkeypatch):
    def full_disk(path: Path, content: bytes) -> None:
        with path.open("wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    weft.save(ring, tmp_path / "ring.json")
    before = (tmp_path / "ring.json").read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(BadInput, match="No space left on device"):
        weft.save(weft.classic.ring_allreduce(weft.allreduce(5)), tmp_path / "ring.json")
    assert [path.name for path in tmp_path.iterdir()] == ["ring.json"]
    assert (tmp_path / "ring.json").read_bytes() == before


def test_a_place_that_cannot_be_written(tmp_path, ring):
    with pytest.raises(BadInput, match="cannot be written: Is a directory"):
        weft.save(ring, tmp_path)
    with pytest.raises(BadInput, match=r"cannot be written: .*null"):
        weft.save(ring, "a\0b")
    with pytest.raises(BadInput, match=r"x\.json cannot be written: No such file"):
        weft.save(ring, tmp_path / "nowhere" / "x.json")
