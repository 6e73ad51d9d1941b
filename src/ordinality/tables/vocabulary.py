"""The words of scales that people use; `scales` knows how they are put together."""

__all__ = ["GRADED", "LOW_HIGH", "OPPOSITES", "PLAIN", "POOR_GOOD", "STEPS", "STRENGTHS"]

# How strongly a word is meant; an unmodified one is 3.
PLAIN = 3.0
STRENGTHS = {
    "extremely": 5.0, "completely": 4.8, "totally": 4.8, "absolutely": 4.8, "fully": 4.8,
    "strongly": 4.5, "highly": 4.4, "very": 4.0, "v": 4.0, "much": 4.0, "quite": 3.5,
    "mostly": 2.8, "generally": 2.8, "rather": 2.5, "fairly": 2.4, "moderately": 2.2,
    "somewhat": 2.0, "tend to": 2.0, "partly": 1.8, "partially": 1.8, "slightly": 1.0,
    "a little": 1.0, "a bit": 1.0,
}  # fmt: skip

# Words on both sides of zero.
LOW_HIGH = {"none": -4.0, "lowest": -3.0, "minimal": -2.5, "minimum": -2.5, "low": -1.0,
            "lo": -1.0, "lower": -1.0, "below average": -0.7, "medium low": -0.5,
            "low medium": -0.5, "medium": 0.0, "med": 0.0, "mid": 0.0, "middle": 0.0,
            "moderate": 0.0, "average": 0.0, "intermediate": 0.0, "normal": 0.0,
            "medium high": 0.5, "high medium": 0.5, "above average": 0.7, "high": 1.0,
            "hi": 1.0, "higher": 1.0, "maximal": 2.5, "maximum": 2.5,
            "highest": 3.0}  # fmt: skip
POOR_GOOD = {"worst": -4.0, "terrible": -3.0, "awful": -2.9, "horrible": -2.9,
             "unacceptable": -2.5, "unacc": -2.5, "bad": -2.0, "poor": -1.5,
             "inadequate": -1.3, "unsatisfactory": -1.3, "below average": -1.0,
             "mediocre": -0.9, "fair": -0.5, "average": -0.1, "neutral": -0.1, "ok": 0.1,
             "okay": 0.1, "acceptable": 0.2, "acc": 0.2, "adequate": 0.2, "sufficient": 0.2,
             "satisfactory": 0.3, "above average": 0.6, "good": 1.0, "great": 1.7,
             "excellent": 2.5, "outstanding": 3.0, "exceptional": 3.0, "superb": 3.0,
             "perfect": 3.5, "best": 4.0}  # fmt: skip

# Upper pole, lower pole, and the middle between them.
OPPOSITES = [
    ("satisfied", "dissatisfied | unsatisfied", ""),
    ("likely | probable", "unlikely | improbable", "possible"),
    ("important", "unimportant", ""),
    ("positive", "negative", "zero"),
    ("better | improved", "worse | worsened", "same | the same | about the same | no change"),
    ("increase | increased", "decrease | decreased", "same | the same | no change | unchanged"),
    ("easy", "difficult | hard", ""),
    ("happy", "unhappy | sad", ""),
    ("comfortable", "uncomfortable", ""),
    ("interested", "uninterested | disinterested", ""),
    ("approve", "disapprove", ""),
    ("support", "oppose", ""),
    ("in favour | in favor | favour | favor", "against | opposed", ""),
    ("safe", "unsafe", ""),
    ("fast", "slow", ""),
    ("true", "false", ""),
    ("like", "dislike", ""),
]
# What one may be not at all, somewhat or very.
GRADED = (
    "important | likely | satisfied | concerned | confident | familiar | useful | interested | "
    "helpful | worried | happy | aware | comfortable | effective | relevant | difficult | "
    "easy | active | often | true | much"
)
# Phrases in order, lowest first; bars part phrases for one step.
STEPS = {
    "never to always": "never < almost never | hardly ever | very rarely < rarely | seldom < "
    "occasionally | once in a while < sometimes < often | frequently | regularly < usually | "
    "very often | very frequently | most of the time < almost always | nearly always < always",
    "how often, least first": "never < yearly | once a year < monthly | once a month < "
    "weekly | once a week < daily | every day < hourly",
    "none to severe": "none | no | absent | healthy < trace | minimal | very mild < mild | "
    "slight < moderate < moderately severe < severe | marked | serious < very severe | "
    "critical | extreme < fatal | death",
    "a scale of degree, least first": "not at all | none < slightly | a little | "
    "a little bit < somewhat | moderately | to some extent < quite a bit | considerably < "
    "very | very much | a lot < extremely | a great deal | completely",
    "ordinal numbers": "first | 1st < second | 2nd < third | 3rd < fourth | 4th < fifth | "
    "5th < sixth | 6th < seventh | 7th < eighth | 8th < ninth | 9th < tenth | 10th",
    "primary to tertiary": "none | no schooling < primary < secondary < tertiary < quaternary",
    "education, least first": "none | no schooling | illiterate < primary | primary school | "
    "elementary | elementary school < middle school | secondary < high school | "
    "secondary school < some college | vocational < college | university | bachelor | "
    "bachelor's | bachelors < master | master's | masters < doctorate | phd | doctoral",
    "no to yes": "no | definitely not | definitely no < probably not | probably no < maybe | "
    "perhaps | unsure | undecided | possibly < probably | probably yes < yes | definitely | "
    "definitely yes",
    "cold to hot": "freezing < very cold < cold < cool < lukewarm < warm < hot < very hot",
    "beginner to expert": "none < novice < beginner < elementary < intermediate < "
    "upper intermediate < advanced < proficient < expert < master",
    "bronze to platinum": "iron < bronze < silver < gold < platinum < diamond",
    "young to old": "infant < child < adolescent | teenager < young | young adult | youth < "
    "middle aged | middle age | adult < old | elderly | senior < very old",
    "thin to fat": "underweight < normal | normal weight < overweight < obese < severely obese",
    "light to heavy": "very light < light < medium < heavy < very heavy",
    "short to long": "very short < short < medium < long | tall < very long | very tall",
    "fewest first": "none < one < two < three < four < five < six < seven < eight < nine < ten",
}
