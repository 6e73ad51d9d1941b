"""Inventory of the data folder: every file, its shape, who uses it, and where it comes from.

The licences do not allow shipping the sets. Each line below names a file of the folder with the
rows and columns it must have, so that a missing or wrong copy is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FOLDERS", "INVENTORY", "PAPERS", "Entry", "Folder", "Origin"]

PAPERS = {
    "G": "Chu & Ghahramani (2005, JMLR): Gaussian processes for ordinal regression",
    "O": "Lin & Li (2006): Large-margin thresholded ensembles for ordinal regression",
    "P": "Srijith, Shevade & Sundararajan (2012): Probabilistic least squares",
    "L": "Chu & Ghahramani (2005, ICML): Preference learning with Gaussian processes",
}


@dataclass(frozen=True)
class Origin:
    """Where to get a copy of a file, and on which terms."""

    where: str
    licence: str


@dataclass(frozen=True)
class Folder:
    """What the files of one folder have in common."""

    kind: str  # what its y is: metric, ordinal, classes, rankings, ... or partitions
    about: str


@dataclass(frozen=True)
class Entry:
    """One file of the data folder.

    Parameters
    ----------
    folder, name : str
        Folder of the file, and its name without the ending.
    packed : bool
        Whether it is gzipped.
    rows, columns : int
        Shape of the file, the target included.
    papers : tuple of str
        Keys of `PAPERS` that use it.
    origin : Origin
        Where to get it, and on which terms.
    about : str, default=""
        What it holds.
    levels : tuple of str, default=()
        What labels 1..K are called, lowest first.
    aside : tuple of str, default=()
        Columns that are neither inputs nor target.
    nominal : tuple of str, default=()
        Columns whose numbers are names.

    Examples
    --------
    >>> entry = INVENTORY[0]
    >>> entry.file, entry.kind, entry.rows, entry.papers
    ('regression/diabetes.csv', 'metric', 43, ('G', 'P'))
    """

    folder: str
    name: str
    packed: bool
    rows: int
    columns: int
    papers: tuple[str, ...]
    origin: Origin
    about: str = ""
    levels: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    nominal: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """``folder/name``, which no two files share."""
        return f"{self.folder}/{self.name}"

    @property
    def file(self) -> str:
        """Path within the data folder."""
        return f"{self.key}.csv{'.gz' if self.packed else ''}"

    @property
    def kind(self) -> str:
        """What the target is."""
        return _KINDS.get(self.key, FOLDERS[self.folder].kind)


FOLDERS = {
    "regression": Folder("metric", "metric targets of L. Torgo's collection, original units"),
    "chu_partitions": Folder("partitions", "Chu's equal-length bins, 20 partitions each"),
    "equal_frequency_partitions": Folder("partitions", "equal-frequency bins, 20 partitions"),
    "ordinal": Folder("ordinal", "genuinely ordinal targets"),
    "orca_partitions": Folder("partitions", "30 hold-outs of the ORCA review"),
    "genes": Folder("ordinal", "many inputs and few rows, ordered classes"),
    "multiclass": Folder("classes", "unordered classes"),
    "label_ranking": Folder("rankings", "rankings of a few labels for each input"),
    "preference": Folder("comparisons", "paired comparisons"),
    "research_only": Folder("ratings", "sets that may be used for research and not passed on"),
}
# Files whose target is of another kind than that of their folder.
_KINDS = {
    "genes/prostate_kunderfranco_samples": "table",
    "genes/prostate_barwick_samples": "table",
    "preference/flatlizards_predictors": "table",
    "research_only/movielens_100k_items": "table",
    "research_only/movielens_100k_users": "table",
    "research_only/sushi3_items": "table",
    "research_only/sushi3_users": "table",
    "research_only/sushi3a_orders": "rankings",
    "research_only/sushi3b_orders": "rankings",
    "research_only/ohsumed_letor3": "ordinal",
}

_NONE = "none stated"
_RESEARCH = "research use only; not to be passed on"
ORIGINS = {
    "AD": Origin("github.com/renatopp/arff-datasets", _NONE),
    "CH": Origin("W. Chu's archive in the history of github.com/bb515/probit", "Chu Wei's"),
    "OR": Origin("archive of the ORCA review: github.com/bvegaus/OCEAn, ayrna/orca", _NONE),
    "PM": Origin("github.com/EpistasisLab/pmlb", "MIT"),
    "SK": Origin("Python package skordinal 0.2.0", "BSD-3-Clause"),
    "GO": Origin("github.com/gagolews/ordinal-regression-data", _NONE),
    "UCI": Origin("archive.ics.uci.edu, Wine Quality", "CC BY 4.0"),
    "AER": Origin("R package AER", "GPL"),
    "ORANGE": Origin("Python package Orange3 3.40, test data", "GPL-3.0"),
    "RORD": Origin("R package ordinal", "GPL"),
    "MASS": Origin("R package MASS", "GPL"),
    "ESL": Origin("R package ElemStatLearn", "GPL"),
    "GMIFS": Origin("R package ordinalgmifs", "GPL"),
    "CR": Origin("R package glmnetcr 1.0.7", "GPL-2.0"),
    "PCA": Origin("github.com/Syksy/curatedPCaData", "CC BY 4.0"),
    "DM": Origin("github.com/ramhiser/datamicroarray", "MIT"),
    "LR": Origin("github.com/rebelosa/labelrankingforests", _NONE),
    "BT": Origin("R package BradleyTerry2", "GPL"),
    "TREE": Origin("R package psychotree", "GPL"),
    "EM": Origin("github.com/TZstatsADS/Spring2018-Project4", _RESEARCH),
    "ML": Origin("grouplens.org/datasets/movielens/100k", _RESEARCH),
    "SU": Origin("www.kamishima.net/sushi", _RESEARCH),
    "LETOR": Origin("LETOR 3.0, OHSUMED", _RESEARCH),
}

# name, a star if gzipped | rows | columns | papers | origin | levels | aside | about
_FILES = {
    "regression": """
diabetes            | 43    | 3  | GP   | AD | | | C-peptide from age and base deficit
pyrimidines         | 74    | 28 | GOPL | AD | | | activity; input p3_pi_acceptor is constant
triazines           | 186   | 61 | GPL  | AD | | | activity
wisconsin           | 194   | 33 | GP   | AD | | | months until breast cancer recurred
machine_cpu         | 209   | 7  | GOPL | AD | | | published relative performance
auto_mpg            | 392   | 8  | GP   | CH | | | miles per gallon
boston_housing      | 506   | 14 | GOPL | AD | | | median value of homes
stocks*             | 950   | 10 | GP   | AD | | | price of a company from nine others
abalone*            | 4177  | 9  | GOPL | AD | | | rings; Sex is M, F or I
bank8fm*            | 8192  | 9  | G    | AD | | | fraction rejected, Bank Domains(1)
bank32nh*           | 8192  | 33 | GO   | AD | | | fraction rejected, Bank Domains(2)
cpu_small*          | 8192  | 13 | G    | AD | | | % in user mode, Computer Activity(1)
cpu_act*            | 8192  | 22 | GO   | AD | | | % in user mode, Computer Activity(2)
california_housing* | 20640 | 9  | GO   | AD | | | median house value in dollars
house_8l*           | 22784 | 9  | G    | AD | | | price, Census Domains(1)
house_16h*          | 22784 | 17 | GO   | PM | | | price, Census Domains(2)
""",
    "chu_partitions": """
diabetes_5*        | 860   | 5  | GP | CH | | | 30 to train, 13 to test
diabetes_10*       | 860   | 5  | GP | CH | | | 30 to train, 13 to test
pyrimidines_5*     | 1480  | 30 | GP | CH | | | 50 to train, 24 to test
pyrimidines_10*    | 1480  | 30 | GP | CH | | | 50 to train, 24 to test
triazines_5*       | 3720  | 63 | GP | CH | | | 100 to train, 86 to test
triazines_10*      | 3720  | 63 | GP | CH | | | 100 to train, 86 to test
wisconsin_5*       | 3880  | 35 | GP | CH | | | 130 to train, 64 to test
wisconsin_10*      | 3880  | 35 | GP | CH | | | 130 to train, 64 to test
machine_cpu_5*     | 4180  | 9  | GP | CH | | | 150 to train, 59 to test
machine_cpu_10*    | 4180  | 9  | GP | CH | | | 150 to train, 59 to test
auto_mpg_5*        | 7840  | 10 | GP | CH | | | 200 to train, 192 to test
auto_mpg_10*       | 7840  | 10 | GP | CH | | | 200 to train, 192 to test
boston_housing_5*  | 10120 | 16 | GP | CH | | | 300 to train, 206 to test
boston_housing_10* | 10120 | 16 | GP | CH | | | 300 to train, 206 to test
stocks_5*          | 19000 | 12 | GP | CH | | | 600 to train, 350 to test
stocks_10*         | 19000 | 12 | GP | CH | | | 600 to train, 350 to test
abalone_5*         | 83540 | 13 | GP | CH | | | 1000 to train, 3177 to test
abalone_10*        | 83540 | 13 | GP | CH | | | 1000 to train, 3177 to test
""",
    "equal_frequency_partitions": """
pyrimidines*        | 74    | 43 | O  | OR | | | 50 to train, 24 to test
machine_cpu*        | 209   | 43 | O  | OR | | | 150 to train, 59 to test
boston_housing*     | 506   | 43 | O  | OR | | | 300 to train, 206 to test
stocks*             | 950   | 43 |    | OR | | | 600 to train, 350 to test
abalone*            | 4177  | 43 | O  | OR | | | 1000 to train, 3177 to test
bank8fm*            | 8192  | 43 | G  | OR | | | 50 to train, 8142 to test
bank32nh*           | 8192  | 43 | GO | OR | | | 75 to train, 8117 to test
cpu_small*          | 8192  | 43 | G  | OR | | | 100 to train, 8092 to test
cpu_act*            | 8192  | 43 | GO | OR | | | 125 to train, 8067 to test
california_housing* | 20640 | 43 | GO | OR | | | 150 to train, 20490 to test
house_8l*           | 22784 | 43 | G  | OR | | | 175 to train, 22609 to test
house_16h*          | 22784 | 43 | GO | OR | | | 200 to train, 22584 to test
""",
    "ordinal": """
era                | 1000 | 5 | | SK | 1,2,3,4,5,6,7,8,9 | | acceptance of an applicant
esl                | 488  | 5 | | SK | 1,2,3,4,5,6,7,8,9 | | fitness of an applicant
car                | 1728 | 7 | | AD | unacc,acc,good,vgood | | acceptability of a car
balance_scale      | 625  | 5 | | AD | L,B,R | | to which side a balance tips
new_thyroid        | 215  | 6 | | PM | hypo,normal,hyper | | function of the thyroid
winequality_white* | 4898 | 12 | | UCI | 3,4,5,6,7,8,9 | | quality of white wine
affairs            | 601  | 9 | | AER | 0,1,2,3,4-10,12+ | | extramarital affairs in a year
contact_lenses     | 24   | 5 | | ORANGE | none,soft,hard | | lenses to be fitted
pasture            | 36   | 23 | | AD | LO,MED,HI | | pasture production
squash_stored      | 52   | 25 | | AD | not_acceptable,ok,excellent | | squash after storage
squash_unstored    | 52   | 24 | | AD | not_suitable,ok,excellent | | squash at harvest
grub_damage        | 155  | 9 | | AD | low,average,high,veryhigh | | grass grub damage
white_clover       | 63   | 32 | | AD | 1,2,3,4 | | amount of white clover
tae                | 151  | 6 | | AD | low,medium,high | | scores of teaching assistants
automobile         | 205  | 26 | | AD | -2,-1,0,1,2,3 | | insurance risk of a car
nursery*           | 12960 | 9 | | AD | not_recom,recommend,very_recom,priority,spec_prior | |
bondrate           | 57   | 12 | | AD | AAA,AA,A,BBB,BB | City | rating of bonds, best first
heart_cleveland    | 303  | 14 | | AD | 0,1,2,3,4 | | heart disease
toy                | 300  | 3 | | OR | 1,2,3,4,5 | | bands of a noisy product (Herbrich et al.)
skillcraft*        | 3337 | 19 | | GO | 1,2,3,4,5,6,7 | | league of a player
wine_bitterness    | 72   | 6 | | RORD | 1,2,3,4,5 | bitterness_0_100 | bitterness of wine
housing_satisfaction | 72 | 5 | | MASS | Low,Medium,High | weight | cells with their counts
prostate_stamey_gleason | 97 | 9 | | ESL | 6,7,8,9 | | Gleason score; pgg45 nearly gives it
wesdr_retinopathy  | 720  | 17 | | GMIFS | none,mild,moderate,proliferative | | right eye
""",
    "orca_partitions": """
automobile*      | 6150  | 74 | | OR | | | 153 to train, 52 to test
balance_scale*   | 18750 | 7  | | OR | | | 468 to train, 157 to test
bondrate*        | 1710  | 40 | | OR | | | 42 to train, 15 to test
car*             | 51840 | 24 | | OR | | | 1296 to train, 432 to test
contact_lenses*  | 720   | 9  | | OR | | | 18 to train, 6 to test
era*             | 30000 | 7  | | OR | | | 750 to train, 250 to test
esl*             | 14640 | 7  | | OR | | | 366 to train, 122 to test
new_thyroid*     | 6450  | 8  | | OR | | | 161 to train, 54 to test
pasture*         | 1080  | 28 | | OR | | | 27 to train, 9 to test
squash_stored*   | 1560  | 54 | | OR | | | 39 to train, 13 to test
squash_unstored* | 1560  | 55 | | OR | | | 39 to train, 13 to test
tae*             | 4530  | 57 | | OR | | | 113 to train, 38 to test
toy*             | 9000  | 5  | | OR | | | 225 to train, 75 to test
""",
    "genes": """
prostate_kunderfranco_gleason* | 53 | 18323 | G | PCA | <=6,7,>=8 | | stand-in for Singh's
prostate_kunderfranco_samples  | 53 | 5 | | PCA | | sample | rows as above
prostate_barwick_gleason*      | 139 | 483 | | PCA | <=6,7,>=8 | | Gleason scores, 482 genes
prostate_barwick_samples       | 139 | 4 | | PCA | | sample | rows as above
prostate_singh_tumour_normal*  | 102 | 12601 | | DM | normal,tumour | | no Gleason scores
type2_diabetes_expression*     | 24 | 11067 | | CR | control,impaired,diabetes | |
liver_methylation              | 56 | 46 | | GMIFS | normal,cirrhosis,tumour | |
""",
    "multiclass": """
dna*      | 3186 | 181 | L | PM | | | splice junctions
waveform* | 5000 | 22  | L | PM | | | noisy waves
satimage* | 6435 | 37  | L | PM | | | soils seen from a satellite
segment*  | 2310 | 20  | L | AD | | | regions of outdoor images
usps*     | 9298 | 258 | L | ESL | | split | digits of zip codes
""",
    "label_ranking": """
authorship* | 841   | 74 | | LR | | |
bodyfat     | 252   | 14 | | LR | | |
calhousing* | 20640 | 8  | | LR | | |
cpu_small*  | 8192  | 11 | | LR | | |
elevators*  | 16599 | 18 | | LR | | |
fried*      | 40768 | 14 | | LR | | |
glass       | 214   | 15 | | LR | | |
housing     | 506   | 12 | | LR | | |
iris        | 150   | 7  | | LR | | |
pendigits*  | 10992 | 26 | | LR | | |
segment*    | 2310  | 25 | | LR | | |
stock*      | 950   | 10 | | LR | | |
vehicle*    | 846   | 22 | | LR | | |
vowel*      | 528   | 21 | | LR | | |
wine        | 178   | 16 | | LR | | |
wisconsin   | 194   | 32 | | LR | | |
""",
    "preference": """
flatlizards_contests   | 100  | 2  | | BT | | | contests between lizards
flatlizards_predictors | 77   | 18 | | BT | | lizard | measurements of the lizards
topmodel2007*          | 2880 | 9  | | TREE | | | 192 judges compare six models
""",
    "research_only": """
eachmovie_sample_ratings* | 1009402 | 4 | G | EM | 0,1,2,3,4,5 | role | 5055 users, stars
movielens_100k_ratings*   | 100000 | 4 | | ML | 1,2,3,4,5 | timestamp | 943 users, stars
movielens_100k_items*     | 1682 | 22 | | ML | | item,title,release_date | genres of the films
movielens_100k_users      | 943 | 4 | | ML | | user | age, gender, occupation
sushi3_items              | 100 | 10 | | SU | | item,name_en,id_in_set_a | kinds of sushi
sushi3_users*             | 5000 | 11 | | SU | | user | who was asked
sushi3a_orders*           | 5000 | 11 | | SU | | | the same ten kinds ranked by everybody
sushi3b_orders*           | 5000 | 11 | | SU | | | ten of a hundred kinds ranked by each
sushi3b_scores*           | 50000 | 3 | | SU | 0,1,2,3,4 | | the same ten scored, 4 liked most
ohsumed_letor3*           | 16140 | 49 | L | LETOR | not,possibly,definitely | fold,query,doc |
""",
}
_NOMINAL = {
    "ordinal/wine_bitterness": ("bottle", "judge"),
    "ordinal/tae": ("Course_instructor", "Course"),
}


def _names(cell: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in cell.split(",")) if cell else ()


def _entry(folder: str, line: str) -> Entry:
    name, rows, columns, papers, origin, levels, aside, about = map(str.strip, line.split("|"))
    plain = name.removesuffix("*")
    return Entry(
        folder, plain, name.endswith("*"), int(rows), int(columns), tuple(papers),
        ORIGINS[origin], about or FOLDERS[folder].about, _names(levels), _names(aside),
        _NOMINAL.get(f"{folder}/{plain}", ()),
    )  # fmt: skip


INVENTORY = tuple(
    _entry(folder, line) for folder, text in _FILES.items() for line in text.split("\n") if line
)
