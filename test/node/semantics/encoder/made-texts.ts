import { Dice } from '../../../sim/dice.js';

/** Letters of the scripts that the encoder reads, of others, and what is between words. */
const RANGES: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0x61, 0x7a],
  [0xa0, 0x24f],
  [0x300, 0x36f],
  [0x370, 0x3ff],
  [0x400, 0x4ff],
  [0x5d0, 0x5ea],
  [0x600, 0x6ff],
  [0x900, 0x97f],
  [0xe00, 0xe7f],
  [0x1100, 0x11ff],
  [0x1e00, 0x1eff],
  [0x2000, 0x206f],
  [0x2070, 0x218f],
  [0x2190, 0x23ff],
  [0x3000, 0x30ff],
  [0x3300, 0x33ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfb00, 0xfdff],
  [0xfe30, 0xffef],
  [0x1f300, 0x1f6ff],
  [0xd800, 0xdfff],
  [0, 0x1f],
];

const WORDS =
  'the deploy window für Rückfahrt データベース 本番 部署 数据库 배포 데이터베이스 قاعدة البيانات развертывание базы ' +
  'déploiement données despliegue implantação wdrożenie bazy uitrol ฐานข้อมูล veritabanı 2026-11-26 03:14 v1.2.3 10.0.0.1 ' +
  'SVC_MAX_PAGE_SIZE=1000 fn(x) => {y} C:\\path https://a.b/c?d=e#f 🚀 ﬁnd ½ ① ㌔ Ａｂｃ ｶﾅ';

/** Texts drawn from a seed: words of sixteen languages, parts of words, and letters of all scripts, with odd spaces. */
export function madeTexts(count: number, seed = 1): string[] {
  const dice = new Dice(seed, 'texts');
  const words = WORDS.split(' ');
  const letters = (): string => {
    const [low, high] = dice.pick(RANGES);
    let text = '';
    for (let left = 1 + dice.below(8); left > 0; left -= 1) {
      const point = low + dice.below(high - low + 1);
      text += point >= 0xd800 && point <= 0xdfff ? String.fromCharCode(point) : String.fromCodePoint(point);
    }
    return text;
  };
  const part = (): string => {
    const draw = dice.below(10);
    if (draw < 5) return dice.pick(words);
    const word = dice.pick(words);
    return draw < 7 ? word.slice(dice.below(word.length)) : letters();
  };
  const spaces = [' ', ' ', ' ', ' ', '', '  ', '\n', '\t', '\u00a0', '\u3000'];
  return Array.from({ length: count }, () => {
    let text = dice.chance(0.1) ? ' ' : '';
    for (let left = 1 + dice.below(24); left > 0; left -= 1) text += part() + dice.pick(spaces);
    return text;
  });
}
