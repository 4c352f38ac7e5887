import { InvalidInput } from '../errors.ts'
import type { ChainCheck } from './pool.ts'

/** How an endpoint shows that it serves the EVM chain with this id. */
export const evmChainCheck = (chainId: number): ChainCheck => ({
  call: { method: 'eth_chainId', params: [] },
  accepts: (answer) => {
    if (typeof answer === 'string' && /^0x[0-9a-fA-F]{1,16}$/.test(answer)) {
      return Number(answer) === chainId
    }
    throw new InvalidInput('bad-chain-id', 'the node reported no valid chain id')
  },
  name: `chain id ${chainId}`,
})
