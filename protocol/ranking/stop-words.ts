/**
 * English words that shape a sentence and do not name its subject, question words included, folded and with
 * contractions split as the index splits them (`don't` is `don` and `t`).
 */
const WORDS = `
a about above after again against all almost also although always am an and another any anybody anyone anything are
aren around as at away be became because become been before being below between both but by came can cannot come could
couldn did didn do does doesn doing don done down during each either else ever every everybody everyone everything
few for from further get gets getting give given go goes going gone got had hadn has hasn have haven having he her
here hers herself him himself his how however i if in into is isn it its itself just kind let like likely ll m made
make makes many may maybe me might mine more most much must my myself need neither no nobody none nor not nothing now
of off often on once one only onto or other others our ours ourselves out over own per perhaps please quite rather re
really s said same say says shall she should shouldn since so some somebody someone something sometimes still such t
tell than that the their theirs them themselves then there these they thing things this those though through thus to
together too toward towards under until up upon us use used uses using usually ve very via want wants was wasn way we
well went were weren what whatever when whenever where whether which while who whoever whom whose why will with within
without won would wouldn yes yet you your yours yourself yourselves d o y
`;

const STOP_WORDS: ReadonlySet<string> = new Set(WORDS.trim().split(/\s+/));

/** True for a folded word without a subject of its own. */
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word);

/**
 * Function words that replace each other between a question and its answer: "Ann's dog", "her dog" and "my dog" are the
 * same, and so are "did you find" and "do they find". The first word of each line is the name of the group. `s` is what
 * remains of `'s`, which is far more often a possessive than a verb.
 */
const FORMS = `
my your his her their our its s
is was were are am be been being m re
do did does done doing
i he she you they we it
have has had having ve
me him them us
a an the this that these those some
go goes going gone went
get gets getting got gotten
make makes made making
use uses used using
`;

const PARTICLES: ReadonlyMap<string, string> = new Map(
  FORMS.trim()
    .split('\n')
    .flatMap((line) => {
      const forms = line.split(' ');
      return forms.map((form): [string, string] => [form, forms[0] ?? form]);
    }),
);

/** The name of a folded function word's group; any other word is returned unchanged. */
export const particleOf = (word: string): string => PARTICLES.get(word) ?? word;
