import { CHAINS, type ChainRow } from '../../schemas/chains.ts'

const BEGIN = '<!-- chains -->'
const END = '<!-- /chains -->'

/** Words of all chains, as pages list them. */
const chainIds = (): string =>
  Object.keys(CHAINS)
    .map((id) => `\`${id}\``)
    .join(', ')

/** The same with the word of the paths where it differs. */
export const chainWords = (): string =>
  Object.values<ChainRow>(CHAINS)
    .map(({ id, apiName }) => (apiName === id ? `\`${id}\`` : `\`${id}\` (or \`${apiName}\`)`))
    .join(', ')

/** A page with its list of chains as the rows are. */
export const withChainIds = (page: string): string => {
  const [before, rest = ''] = page.split(BEGIN)
  const [, after] = rest.split(END)
  if (after === undefined) throw new Error(`the page has no list between ${BEGIN} and ${END}`)
  return `${before}${BEGIN}${chainIds()}${END}${after}`
}
