import type { Kind } from './memory.js';

/** So much of a text is looked at. */
const LOOKED_AT = 4096;

const word = (...words: readonly string[]): RegExp => new RegExp(`\\b(?:${words.join('|')})\\b`, 'i');

/** In this order; the first that is found counts (reference-mcp-cli §6.4). None can take long on a long text. */
const SIGNS: readonly (readonly [kind: Kind, sign: RegExp])[] = [
  [
    'conversation',
    /^[ \t]*(?:[-*>][ \t]*)?[[*]{0,2}(?:user|human|assistant|agent|ai|system|customer|interviewer|speaker [a-z0-9])[\]*]{0,2}[ \t]?:/im,
  ],
  [
    'decision',
    word(
      'decided (?:to|that|on|against|not)',
      '(?:we|i)(?: wi|.)ll (?:use|go with|adopt|switch to|stay with|keep|drop|move to|stop)',
      'we (?:chose|agreed (?:to|on|that)|settled on|are going with|picked)',
      '(?:the|our) decision (?:is|was)',
      'decision(?=:)',
    ),
  ],
  [
    'event',
    word(
      'happened (?:on|at|in|yesterday|today)',
      'took place',
      'occurred (?:on|at|in)',
      '(?:was|were) (?:released|launched|deployed|born|held|founded|shipped) (?:on|at|in)',
      'met (?:with|on)',
      '(?:outage|incident|meeting|deployment|release) (?:on|at|of)',
    ),
  ],
  [
    'relation',
    word(
      'works (?:for|with|at)',
      'reports to',
      'belongs to',
      'depends on',
      'is (?:part|owned|maintained|managed|married) (?:of|by|to)',
      'is (?:the|a) (?:parent|child|member|manager|brother|sister|friend|owner|colleague) of',
      '(?:related|connected|linked) to',
    ),
  ],
  [
    'entity',
    word(
      'is an? (?:person|company|organi[sz]ation|team|product|project|service|library|tool|city|country|customer|database)',
      '(?:full )?name is',
      'is (?:located|based) in',
    ),
  ],
  [
    'claim',
    word(
      '(?:claims?|claimed|argues?|argued|asserts?|asserted|believes?|believed|alleges?|alleged) that',
      'according to',
      '(?:studies|research|evidence) (?:shows?|suggests?|found)',
      '(?:i|we) (?:believe|think|suspect)',
    ),
  ],
  [
    'concept',
    word(
      'is defined as',
      'refers to',
      'is a (?:concept|pattern|principle|technique|method|theory|term|kind of|type of|form of)',
      'means that',
      'definition(?=:)',
      'in other words',
    ),
  ],
];

/** The kind that the words of a text say; null where they say none. */
export function kindOfText(text: string): Kind | null {
  const beginning = text.slice(0, LOOKED_AT);
  return SIGNS.find(([, sign]) => sign.test(beginning))?.[0] ?? null;
}
