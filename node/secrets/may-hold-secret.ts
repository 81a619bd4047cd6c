/**
 * What every secret that a rule finds has in its text. It is one pass over the text, so nearly no text is shown to the rules.
 * The test of the rules proves that it passes all of their secrets.
 */
const ANCHORS = new RegExp(
  [
    // The prefixes of keys and tokens.
    'A(?:KIA|3T|GPA|IDA|ROA|IPA|NPA|NVA|SIA)[A-Z0-9]{16}',
    'AIza',
    'eyJ[\\w-]{8}',
    'gh[opusr]_\\w{20}|github_pat_|glpat-|npm_\\w{20}|hf_\\w{20}|dckr_pat_|pypi-|xai-\\w{20}|gsk_\\w{20}',
    'xox[abeoprs]-|xapp-|hooks\\.slack\\.com',
    '[rs]k_(?:live|test)_|sk-[\\w-]{20}|SG\\.\\w|shp(?:pa|ca|at|ss)_|lin_api_|ops_ey',
    'mnt_[\\w-]{43}\\.|mnemesh-join-',
    'PRIVATE KEY',
    // A user and a password before a host.
    '://[^\\s/@]{0,300}:[^\\s/@]{3,300}@',
    '(?:Bearer|Basic) +[\\w+/.~=-]{20}',
    // A name of something secret, and a value.
    '(?:[Pp]ass(?:w(?:or)?d|phrase|wort)?|PASS(?:W(?:OR)?D|PHRASE|WORT)?|[Pp]wd|PWD|[Ss]ecret|SECRET|[Tt]oken|TOKEN|[Kk]ey|KEY)["\'`]?\\s{0,4}(?:[:=]|is\\s)',
  ].join('|'),
);

/** False for a text without secrets, which no rule needs to see; nearly always. */
export const mayHoldSecret = (text: string): boolean => text.length >= SHORTEST && ANCHORS.test(text);

const SHORTEST = 12;
