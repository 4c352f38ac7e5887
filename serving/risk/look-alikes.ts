/** Characters at each end that people compare; a poisoned address has the same ones. */
const COMPARED = 4

const ends = (address: string): string => {
  const body = address.replace(/^0x/, '')
  return `${body.slice(0, COMPARED)}${body.slice(-COMPARED)}`
}

/** Addresses of a history that another address imitates: other ones with the same beginning and end. */
export const lookAlikesOf = (address: string, history: readonly string[]): readonly string[] => [
  ...new Set(history.filter((known) => known !== address && ends(known) === ends(address))),
]
