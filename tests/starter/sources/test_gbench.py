"""Gbench's manifest: every data set with an address, and what is missing by name."""

from urllib.parse import urlparse

from starter.sources.gbench import gbench, listing, missing


def test_every_data_set_has_a_name_and_an_address():
    assert len(gbench()) == 201  # the appendix counts 200 and lists 201
    assert len({each.folder for each in gbench()}) == 201
    for each in gbench():
        address = urlparse(each.address)
        assert address.scheme in ("http", "https")
        assert address.netloc
        assert address.path
        assert not set(each.address) & set(" \"<>'")


def test_overlaps_are_as_many_as_the_paper_counts():
    counts = {
        ind: sum(ind in each.overlaps for each in gbench()) for ind in ("clothing1m", "face", "medical")
    }
    assert counts == {"clothing1m": 3, "face": 11, "medical": 12}
    assert sum("cifar100" in each.overlaps for each in gbench()) == 53


def test_what_is_missing_is_told_by_name():
    folders = [each.name for each in gbench()[2:]]
    assert [each.name for each in missing(folders)] == ["Rock", "Faces age detection"]
    assert [each.name for each in missing(["rock", "FACES-age detection", *folders])] == []
    lines = listing(folders).splitlines()
    assert lines[0].startswith("missing  Rock")
    assert lines[2].startswith("here     MIML")
    assert lines[-1] == "201 data sets, 2 missing"
    assert listing().splitlines()[0].startswith("Rock ")
