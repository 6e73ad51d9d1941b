"""Items from tables, lists and folders, with what is shown of them."""

import pytest

from ordinality.panel.item_sources import read_source
from ordinality.panel.managed_store import MediaFile
from ordinality.tables import TableError


def looked_at(folder, name):
    return MediaFile(name, "image/png", 1, "0")


def test_columns_that_are_shown_are_no_features(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text(
        "name,title,text,image,group,not_for,year\n"
        "ran,Ran,A king.,ran.png,japan,ann; bob,1985\n"
        "ikiru,Ikiru,,,japan,,1952\n"
    )
    found = read_source(path, picture=looked_at)
    ran, ikiru = found.items
    assert (ran.key, ran.title, ran.text, ran.group) == ("ran", "Ran", "A king.", "japan")
    assert ran.media.path == "ran.png"
    assert list(ran.not_for) == ["ann", "bob"]
    assert ran.features == {"year": 1985.0}
    assert (ikiru.media, list(ikiru.not_for)) == (None, [])
    assert found.folder == tmp_path


def test_features_that_are_named_may_be_text(tmp_path):
    path = tmp_path / "offers.csv"
    path.write_text("name,brand,fare,hours,group\na,x,10,2,p\nb,y,20,3,p\nc,x,30,3,q\n")
    found = read_source(path, features=["brand", "fare"])
    assert [list(each.features.values()) for each in found.items] == [
        [1.0, 0.0, 10.0], [0.0, 1.0, 20.0], [1.0, 0.0, 30.0],
    ]  # fmt: skip
    assert list(found.items[0].features) == ["brand: x", "brand: y", "fare"]
    assert found.items[2].group == "q"


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (["price"], "no column 'price'"),
        (["same"], "same of .* has 1 different word; a feature has from 2 to 50"),
        (["gap"], "gap is empty in line 3"),
        (["flat"], "flat of .* has empty cells, or is the same for all items"),
    ],
)
def test_columns_that_cannot_be_features_are_refused(tmp_path, features, said):
    path = tmp_path / "offers.csv"
    path.write_text("name,same,gap,flat\na,x,u,1\nb,x,,1\nc,x,v,1\n")
    with pytest.raises(TableError, match=said):
        read_source(path, features=features)


def test_lists_and_folders_have_no_features(tmp_path):
    (tmp_path / "films.txt").write_text("Ran\nIkiru\n")
    for path in (tmp_path / "films.txt", tmp_path, "@baseball"):
        with pytest.raises(TableError, match="no features"):
            read_source(path, features=["year"])


def test_a_list_has_a_name_a_line(tmp_path):
    path = tmp_path / "films.txt"
    path.write_text("Ran\n\nIkiru\n")
    assert [each.key for each in read_source(path).items] == ["Ran", "Ikiru"]


def test_a_folder_has_texts_and_pictures_and_counts_the_rest(tmp_path):
    (tmp_path / "a.txt").write_text("An essay.")
    (tmp_path / "b.png").write_bytes(b"")
    (tmp_path / "c.pdf").write_bytes(b"")
    found = read_source(tmp_path, picture=looked_at)
    assert [(each.key, each.text) for each in found.items] == [("a", "An essay."), ("b", None)]
    assert found.items[1].media.path == "b.png"
    assert found.notes == ("Files that are neither text nor picture: 1.",)


def test_a_folder_with_one_name_twice_is_refused(tmp_path):
    for name in ("a.txt", "a.md"):
        (tmp_path / name).write_text("x")
    with pytest.raises(TableError, match="two files named 'a'"):
        read_source(tmp_path)
    (tmp_path / "a.md").unlink()
    with pytest.raises(TableError, match="has 1 texts and pictures"):
        read_source(tmp_path)
