import { stemOf } from './porter.js';

/**
 * English words whose forms a stemmer cannot bring together, each line the forms of one word. Questions use the first form
 * ("did she buy"), notes the others ("I bought"). Function words are left out, and forms that mean something else more often.
 */
const FORMS = `
begin began begun
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
child children
choose chose chosen
come came
deal dealt
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
foot feet
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
give gave given
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
learn learnt
leave left
lend lent
lose lost
mean meant
meet met
mouse mice
pay paid
person people
ride rode ridden
ring rang rung
rise rose risen
run ran
sell sold
send sent
shake shook shaken
shine shone
shoot shot
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spend spent
spin spun
stand stood
steal stole stolen
stick stuck
strike struck
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tooth teeth
understand understood
wake woke woken
wear wore worn
win won
woman women
man men
write wrote written
`;

const LINES = FORMS.trim()
  .split('\n')
  .map((line) => line.split(' '));

const OTHERS: ReadonlyMap<string, readonly string[]> = new Map(
  LINES.flatMap((forms) =>
    forms.map((form): [string, string[]] => [form, forms.filter((other) => other !== form)]),
  ),
);
/** By the stem of the first form: `driving` and `drives`. */
const BY_STEM: ReadonlyMap<string, readonly string[]> = new Map(
  LINES.map(([first = '', ...others]) => [stemOf(first), others]),
);

const NONE: readonly string[] = [];

/** The other forms of a folded word. */
export const otherForms = (word: string): readonly string[] =>
  OTHERS.get(word) ?? BY_STEM.get(stemOf(word)) ?? NONE;
