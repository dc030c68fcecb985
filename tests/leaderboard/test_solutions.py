import numpy as np
import pytest
from rules import with_rules

from leaderboard.ledger import opened
from leaderboard.publish import publish
from leaderboard.solutions import corrected, counting_solution, newest_solution, rescore
from leaderboard.submissions import submit
from leaderboard.verify import verify
from submission import UnusableInput
from submission.scoring import validate
from submission.solution import whole_solution, write_images


def entries(competition):
    with opened(competition) as ledger:
        return ledger.entries()


def test_a_corrected_label_scores_every_submission_anew(competition, halves, perfect, clock):
    """Errors of halves, in points: public 40 0 30 10, private 20 20 30 40; the first becomes 0."""
    submit(competition, halves, "A", clock)
    submit(competition, perfect, "B", clock)
    before = entries(competition)
    done = rescore(competition, {"cnn/test_0001": 0.5}, set(), "a mix-up", clock)
    assert done == (2, verify(competition).head, {"cnn/test_0001": (0.9, 0.5)})
    after = entries(competition)
    assert [entry.public for entry in after] == pytest.approx([250**0.5, 20.0])
    assert [entry.private for entry in after] == [entry.private for entry in before]
    assert len({entry.solution for entry in (*before, *after)}) == 2
    assert [(e.number, e.time, e.digest, e.hash) for e in after] == [
        (e.number, e.time, e.digest, e.hash) for e in before
    ]
    assert [line.score.rmse for line in publish(competition).standings] == [15.81, 20.0]
    assert submit(competition, halves, "C", clock).score == 15.81
    assert verify(competition).problems == ()


def test_a_voided_set_counts_for_no_classifier(competition, halves, clock):
    submit(competition, halves, "A", clock)
    rescore(competition, {}, {"test_0001", "test_0002"}, "mislabelled", clock)
    (entry,) = entries(competition)
    assert entry.public == pytest.approx(((0 + 100) / 2) ** 0.5)
    assert entry.private == pytest.approx(((400 + 1600) / 2) ** 0.5)
    assert len(counting_solution(competition)) == 4
    assert [row.usage for row in newest_solution(competition)].count("Ignored") == 4
    assert list(validate(competition, halves)) == list(competition.ids("test"))
    assert verify(competition).problems == ()


@pytest.mark.parametrize(
    ("labels", "voids", "message"),
    [
        ({"cnn/test_9": 0.5}, set(), "have no cnn/test_9"),
        ({"cnn/test_0001": 1.5}, set(), "not a fraction"),
        (
            {"cnn/test_0001": 0.533},
            set(),
            "0.533 is not a fraction of the set's 100 images; did you mean 0.53\\?",
        ),
        ({"cnn/test_0001": 53}, set(), "53 is not a fraction of the set's 100 images; did you mean 0.53\\?"),
        ({}, {"test_9"}, "have no test_9"),
        ({}, {"cnn/test_0001"}, "have no cnn/test_0001: label takes an id, void a set"),
        ({"test_0001": 0.5}, set(), "have no test_0001: label takes an id, void a set"),
        ({}, {"test_0001", "test_0003"}, "no public"),
        ({}, {"test_0002", "test_0004"}, "no private set would be left"),
        ({}, set(), "nothing would change"),
        ({"cnn/test_0001": 0.9}, set(), "nothing would change"),
    ],
)
def test_what_cannot_be_corrected_changes_nothing(competition, clock, labels, voids, message):
    with pytest.raises(UnusableInput, match=message):
        rescore(competition, labels, voids, "r", clock)
    assert verify(competition).rows == 0


def test_corrected_images_add_up(competition, clock, tmp_path):
    """The set's 100 images are of class 0; the first classifier says 1 of four and the second of two."""
    ids = {"cnn/test_0001": 4, "vit:b/test_0001": 2}
    predicted = {name: np.arange(100) < count for name, count in ids.items()}
    write_images(competition.root, {"test_0001": np.zeros(100)}, predicted)
    files = [tmp_path / f"{number}.csv" for number in range(4)]
    label = competition.classes[1]
    for file, rows in zip(files, ([0], [1], [1, 2], [3, 50]), strict=True):
        file.write_text("set,image,class\n" + "".join(f"test_0001,{row},{label}\n" for row in rows))
    first = rescore(competition, {}, (), "one", clock, images=files[:2])
    assert {name: after for name, (_, after) in first.changed.items()} == {
        "cnn/test_0001": 0.98,
        "vit:b/test_0001": 1.0,
    }
    rescore(competition, {}, {"test_0002"}, "no image", clock)
    again = rescore(competition, {}, (), "more", clock, images=files[2:3])
    assert again.changed == {"cnn/test_0001": (0.98, 0.99), "vit:b/test_0001": (1.0, 0.99)}
    with pytest.raises(UnusableInput, match="nothing would change"):
        rescore(competition, {}, (), "again", clock, images=files[1:3])
    assert rescore(competition, {}, (), "last", clock, images=files[3:]).changed == {
        "vit:b/test_0001": (0.99, 0.97)
    }
    assert verify(competition).problems == ()


def test_six_decimals_are_enough_for_a_label(competition, clock):
    sizes = {**competition.sizes, "test": dict.fromkeys(competition.sizes["test"], 600)}
    rows = whole_solution(competition)
    (found, *_) = corrected(with_rules(competition, sizes=sizes), rows, {"cnn/test_0001": 0.533333}, set())
    assert (found.id, found.prediction) == ("cnn/test_0001", 0.533333)


def test_targets_of_the_other_track_are_no_shares(ood_competition):
    rows = whole_solution(ood_competition)
    name = rows[0].id
    assert corrected(ood_competition, rows, {name: 0.1234567}, set())[0].prediction == 0.1234567
