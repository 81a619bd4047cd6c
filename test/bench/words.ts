/** Everyday words, for queries that cost an embedder what real ones do. */
export const EVERYDAY_WORDS: readonly string[] = `
account address agent airport alarm animal answer apple archive article artist autumn backup balance battery beach
bedroom bicycle birthday blanket border bottle bridge broken budget building button cable calendar camera campaign
candle captain carpet castle ceiling century certificate chapter charge checkout chicken children church circle
classroom client climate cluster coffee collection colour command comment company compass concert contract cookie
corner cottage counter country courage cousin crash cursor customer daughter deadline decision delivery deploy design
desert dinner discount disease doctor document dragon drawer dream driver editor effort election elephant engine
envelope error escape evening example exchange exercise failure family farmer father feature feedback festival fever
filter finger firewall flight flower football forest formula freedom friend furniture future galaxy garden gateway
gesture giraffe glass grammar guitar hammer harbour harvest heater helmet highway history holiday hospital hotel
husband incident index insurance invoice island jacket journey judge kitchen ladder language laptop laundry lawyer
leather lecture letter library licence lesson liquid lunch machine manager market marriage meadow meeting memory
message meter mirror mistake monitor morning mother mountain museum music network newspaper notebook office orchard
order package painting parent partner password patient payment pencil permission picture pipeline planet pocket police
policy potato presence printer prison problem process promise proposal protein quarter question rabbit railway receipt
recipe record release rental repair report request restaurant result review river rocket salary sample schedule school
science screen season secret server session shadow shelter shoulder signal silver sister soldier station statue storage
storm student subject success summer supper surface surgery system tablet teacher telephone temple theatre thunder
ticket timeout tomato token tongue traffic training travel treasure uncle update vacation valley vehicle version
victory village violin visitor volume wallet warehouse weather wedding weekend window winter writer yesterday
`
  .trim()
  .split(/\s+/);

/** What half of the words of a text are, the most frequent first. */
export const FUNCTION_WORDS: readonly string[] = `
the of and to a in is that it for was on with as be at by this from or an are not have but they we which you one had
all were there their when will if more out so what can about into has
`
  .trim()
  .split(/\s+/);

/** A word that no row has, and no other worker or request asks for: of letters only, because numbers are looked up too. */
export const ownWord = (worker: number, sequence: number): string =>
  `q${letters(worker)}q${letters(sequence)}`;

/** A whole number in the digits `a` to `p`. */
const letters = (value: number): string =>
  [...value.toString(16)].map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 16))).join('');
