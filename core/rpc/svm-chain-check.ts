import { InvalidInput } from '../errors.ts'
import type { ChainCheck } from './pool.ts'

const BASE58_KEY = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** Endpoints of one Solana chain have one genesis: that of the first that answers. */
export const sameGenesisCheck = (): ChainCheck => {
  let wanted: string | undefined
  return {
    call: { method: 'getGenesisHash', params: [] },
    accepts: (answer) => {
      if (typeof answer !== 'string' || !BASE58_KEY.test(answer)) {
        throw new InvalidInput('bad-base58', 'the node reported no valid chain id')
      }
      wanted ??= answer
      return answer === wanted
    },
    name: 'the genesis of the first endpoint',
  }
}
