import type { Log } from '../../../schemas/events.ts'
import { textIn } from '../abi/dynamic.ts'
import { decodeAddress } from '../abi/result.ts'
import { addressIn, wordAt, wordCount } from '../abi/words.ts'
import type { PoolVerification } from '../verify/contract.ts'
import { type DecodedEvent, type EvmEvent, type EvmFamily, invalidAmounts } from './types.ts'

const defaultProtocol = 'four_meme'

/** The chain's native token, in which most curves are paid. */
const NATIVE_TOKEN = `0x${'0'.repeat(40)}`
const MAX_NAME = 128
const MAX_SYMBOL = 64
const DECIMALS = 18
/** What a curve starts to sell. Source: four-meme-community/fourmeme-docs. */
const CURVE_TOKENS = 800_000_000_000_000_000_000_000_000n

/** A curve has no contract of its own: it is named by its token. */
const curveOf = ({ data }: Log): string => addressIn(data, 0)

interface Read {
  readonly buys: boolean
  readonly tokenRaw: bigint
  readonly quoteRaw: bigint
}

const trade = (log: Log, { buys, tokenRaw, quoteRaw }: Read) => {
  const token = addressIn(log.data, 0)
  return {
    kind: 'swap',
    pool: token,
    vault: log.address,
    defaultProtocol,
    trader: addressIn(log.data, 1),
    amountInRaw: buys ? quoteRaw : tokenRaw,
    amountOutRaw: buys ? tokenRaw : quoteRaw,
  } as const
}

/** Amounts without the fee; the token's own quote is the second token of its curve. */
const swap =
  (buys: boolean) =>
  (log: Log): DecodedEvent => {
    const { data } = log
    const token = curveOf(log)
    const decoded = trade(log, { buys, tokenRaw: wordAt(data, 3), quoteRaw: wordAt(data, 4) })
    const [offersRaw, fundsRaw] = [wordAt(data, 6), wordAt(data, 7)]
    return (
      invalidAmounts(decoded.amountInRaw, decoded.amountOutRaw) ?? {
        ...decoded,
        tokenIn: buys ? 1 : token,
        tokenOut: buys ? token : 1,
        unnamedIsNative: true,
        reservesInOut: buys ? [fundsRaw, offersRaw] : [offersRaw, fundsRaw],
      }
    )
  }

/** Curves of the first contract are all paid in the chain's native token. */
const firstSwap =
  (buys: boolean) =>
  (log: Log): DecodedEvent => {
    const { data } = log
    const token = curveOf(log)
    const decoded = trade(log, { buys, tokenRaw: wordAt(data, 2), quoteRaw: wordAt(data, 3) })
    return (
      invalidAmounts(decoded.amountInRaw, decoded.amountOutRaw) ?? {
        ...decoded,
        tokenIn: buys ? NATIVE_TOKEN : token,
        tokenOut: buys ? token : NATIVE_TOKEN,
      }
    )
  }

const create = ({ data }: Log): DecodedEvent => {
  const name = textIn(data, 3, MAX_NAME)
  const symbol = textIn(data, 4, MAX_SYMBOL)
  if (name === undefined || symbol === undefined) return { kind: 'invalid', reason: 'bad-array' }
  const token = addressIn(data, 1)
  return {
    kind: 'token-created',
    token,
    metadata: { name, symbol, decimals: DECIMALS, totalSupplyRaw: wordAt(data, 5) },
    dev: addressIn(data, 0),
    pool: token,
    opens: { tokensRaw: CURVE_TOKENS },
  }
}

const migration =
  (certain: boolean) =>
  (log: Log): DecodedEvent => {
    const token = curveOf(log)
    return { kind: 'migration', token, pooled: token, curve: token, certain }
  }

const TOKEN_INFOS = '0xe684626b' // _tokenInfos(address)
/** Words of what the second contract keeps of a token: its address, its quote, ... */
const TOKEN_INFO_WORDS = 13

/** The contract that keeps the curves says what a token is paid in: the zero address for the chain's native token. */
const verification: PoolVerification = {
  ask: (token, listed) =>
    listed.map(({ factory }) => ({
      to: factory,
      data: TOKEN_INFOS + token.slice(2).padStart(64, '0'),
    })),
  conclude: ({ pool, listed, results: given }) => {
    for (const [index, { row, factory }] of listed.entries()) {
      const decoded = given[index]
      if (decoded === undefined || wordCount(decoded) < TOKEN_INFO_WORDS) continue
      if (decodeAddress(decoded, 0) !== pool) continue
      return {
        address: pool,
        tokenA: pool,
        tokenB: decodeAddress(decoded, 1) ?? NATIVE_TOKEN,
        protocol: row.id,
        factory,
        feePips: row.feePips ?? null,
        verified: true,
      }
    }
    return undefined
  },
}

const tradeEvent = (
  name: string,
): Pick<EvmEvent, 'signature' | 'by' | 'topics' | 'words'> & {
  readonly pool: (log: Log) => string
} => ({
  signature: `${name}(address token, address account, uint256 price, uint256 amount, uint256 cost, uint256 fee, uint256 offers, uint256 funds)`,
  by: 'singleton',
  topics: 1,
  words: 8,
  pool: curveOf,
})

/** The deployed contract logs its fee as well, which the published interface leaves out. */
const firstTradeEvent = (
  name: string,
  fee: '' | ', uint256 fee' = '',
): Pick<EvmEvent, 'signature' | 'by' | 'topics' | 'words'> => ({
  signature: `${name}(address token, address account, uint256 tokenAmount, uint256 etherAmount${fee})`,
  by: 'singleton',
  topics: 1,
  words: fee === '' ? 4 : 5,
})

/**
 * The four.meme launchpad; its two contracts keep all curves. Nothing is indexed. Source: four-meme-community/fourmeme-docs
 * contracts/interfaces.
 */
export const fourMeme: EvmFamily = {
  family: 'four_meme',
  verification,
  events: {
    '0x396d5e902b675b032348d3d2e9517ee8f0c4a926603fbc075d3d282ff00cad20': {
      signature:
        'TokenCreate(address creator, address token, uint256 requestId, string name, string symbol, uint256 totalSupply, uint256 launchTime, uint256 launchFee)',
      by: 'singleton',
      topics: 1,
      words: 8,
      pool: ({ data }) => addressIn(data, 1),
      read: create,
    },
    '0x7db52723a3b2cdd6164364b3b766e65e540d7be48ffa89582956d8eaebe62942': {
      ...tradeEvent('TokenPurchase'),
      read: swap(true),
    },
    '0x0a5575b3648bae2210cee56bf33254cc1ddfbc7bf637c0af2ac18b14fb1bae19': {
      ...tradeEvent('TokenSale'),
      read: swap(false),
    },
    '0x00fe0e12b43090c1fc19a34aefa5cc138a4eeafc60ab800f855c730b3fb9480e': {
      ...firstTradeEvent('TokenPurchase', ', uint256 fee'),
      read: firstSwap(true),
    },
    '0x80d4e495cda89b31af98c8e977ff11f417bafcee26902a17a15be51830c47533': {
      ...firstTradeEvent('TokenSale', ', uint256 fee'),
      read: firstSwap(false),
    },
    '0x623b3804fa71d67900d064613da8f94b9617215ee90799290593e1745087ad18': {
      ...firstTradeEvent('TokenPurchase'),
      read: firstSwap(true),
    },
    '0x3aa3f154f6bf5e3490d1a7205aa8d1412e76d26f9d186830de86fb9309224040': {
      ...firstTradeEvent('TokenSale'),
      read: firstSwap(false),
    },
    '0x8f9ab4bd7eff0d085f91575d50cd83f97aa5258e24ded7630d4fd6739e857132': {
      signature: 'TradeStop(address token)',
      by: 'singleton',
      topics: 1,
      words: 1,
      read: migration(false),
    },
    '0xc18aa71171b358b706fe3dd345299685ba21a5316c66ffa9e319268b033c44b0': {
      signature: 'LiquidityAdded(address base, uint256 offers, address quote, uint256 funds)',
      by: 'singleton',
      topics: 1,
      words: 4,
      read: migration(true),
    },
  },
}
