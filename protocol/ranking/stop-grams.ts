/**
 * Pairs of letters of Japanese, Chinese and Korean that carry grammar and no subject, and what other pairs are worth.
 */

const STOP_GRAMS: ReadonlySet<string> = new Set(
  `です ます した して する ある いる から まで など こと もの ため よう どこ なに だれ いつ どう なぜ この その あの どの れる られ
せん でし まし たか すか しょ ょう では には とは ので のは のが のか のに への より って った てい いま ない くだ ださ さい ください
たの との にな なり なる なっ とき でき きる きま いて たら なら けど がつ にあ もう かっ んで すれ れば ばい いい うか ての るの いの
はい はど はな はだ とい いう れた れて れま りま きた える えて りで ばよ よい いで いた んな うな うに んの るか るに るた
什么 怎么 我们 你们 他们 哪里 哪个 谁的 是谁 为什 么时 时候 多少 可以 如何 是什 的是 了吗 吗的 是否 哪些 有哪 么样 怎样 应该 请问 是哪 在哪 么做
니까 습니 입니 합니 했나 하나 까요 어디 누가 언제 무엇 어떤 어떻 떻게 누구 하는 되는 있는 있나 됩니 나요 인가 인지 해야 하고 으로 에서 부터 까지
에게 한테 라고 이라 했습 었습 였습 됐나 되나 됐습 왔나 는지 은지 한가 는가 을까 할까 해서 하면 되면 어느 무슨 얼마 왜죠 이고 이며 하여 된다 한다`
    .split(/\s+/)
    .filter((gram) => gram.length > 0),
);
/** Letters of Chinese that are in no word of their own. */
const STOP_LETTERS = /[\u7684\u4e86\u5417\u5462\u5427\u4eec\u4e48\u8c01\u600e\u8fd9\u90a3\u54ea\u5979\u60a8]/;
/** Particles of Korean at the end of a word. */
const PARTICLES =
  /[\uc740\ub294\uc774\uac00\uc744\ub97c\uc758\uc5d0\ub85c\uc640\uacfc\ub3c4\ub9cc\uc694\uc8e0]$/;

const HIRAGANA = /^[\u3041-\u309f]+$/;
const KATAKANA = /^[\u30a0-\u30ff]+$/;
const HANGUL = /^[\uac00-\ud7a3]+$/;
const ANY_HIRAGANA = /[\u3041-\u309f]/;

/** True for letters that only carry grammar; a single letter when it is `alone`. */
export const isStopGram = (gram: string, alone: boolean): boolean =>
  STOP_GRAMS.has(gram) || (alone ? HIRAGANA.test(gram) || STOP_LETTERS.test(gram) : false);

/**
 * The weight of a pair of letters as a share of a word's: a pair of Han letters is about a word, a word in katakana has
 * several pairs, and hiragana are mostly grammar. `atEnd`: the last pair of a longer word.
 */
export function gramShare(gram: string, atEnd: boolean): number {
  if (HIRAGANA.test(gram)) return 0.15;
  if (ANY_HIRAGANA.test(gram)) return 0.3;
  if (KATAKANA.test(gram)) return 0.5;
  if (HANGUL.test(gram)) return atEnd && PARTICLES.test(gram) ? 0.2 : 0.7;
  if (gram.length > 2) return 0.4;
  return STOP_LETTERS.test(gram) ? 0.2 : 0.8;
}
