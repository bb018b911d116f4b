/** The characters of 0x80 to 0x9F; the five unused bytes keep the control character they would be in latin1. */
export const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
