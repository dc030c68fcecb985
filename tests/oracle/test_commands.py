"""`ablate`."""

from command_line import run


def test_a_table_of_the_paper(mixes):
    text = run("ablate", "mixes", "--table", "4").text
    assert "mixes/ablation/gscore-4.csv" in text
    assert "NaN" not in text
    assert "correlation of Gscore" in text
    assert "fig3" in run("ablate", "mixes", "--table", "9", check=False).text
    assert run("ablate", "mixes", "--table", "4", "--seeds", "2", check=False).code == 2
    assert "random" in run("ablate", "mixes", "--table", "4", "--splits", "5").text
    assert (
        "--splits is for tables 1, 2, 4"
        in run("ablate", "mixes", "--table", "fig7", "--splits", "5", check=False).text
    )
