"""Atomic writes: what happens to links, modes, devices and the disk."""

import os
import stat

import pytest

from ordinality._files import put, writing

posix = pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


@posix
def test_a_link_is_followed_and_stays_a_link(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    put(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert [file.name for file in folder.iterdir()] == ["target"]


@posix
def test_a_link_to_a_missing_file_creates_that_file(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("target")
    put(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


@posix
def test_a_loop_of_links_is_refused(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)
    with pytest.raises(OSError, match="symbolic links"):
        put(one, b"new")
    assert one.is_symlink()
    assert two.is_symlink()


@posix
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o664, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, bits):
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(bits)
    put(file, b"new")
    assert mode(file) == bits
    assert file.read_bytes() == b"new"


@posix
def test_a_new_file_gets_the_default_mode(tmp_path):
    old = os.umask(0o027)
    try:
        put(tmp_path / "file", b"new")
    finally:
        os.umask(old)
    assert mode(tmp_path / "file") == 0o640


@posix
def test_the_content_is_on_the_disk_before_the_move_and_the_folder_after(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, os.replace

    def synced(handle):
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "content")
        if done[-1] == "content":
            assert os.fstat(handle).st_size == 3  # flushed before
        sync(handle)

    def replaced(*args):
        done.append("move")
        replace(*args)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    put(tmp_path / "file", b"new")
    assert done == ["content", "move", "folder"]


@posix
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    # A pipe of its own: a real device would be replaced by code that gets this wrong.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        put(pipe, b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_long_names_are_no_obstacle(tmp_path):
    file = tmp_path / ("a" * 255)
    put(file, b"new")
    assert file.read_bytes() == b"new"


def test_a_block_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), writing(file) as out:  # noqa: PT012
        out.write(b"half")
        raise KeyboardInterrupt
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
