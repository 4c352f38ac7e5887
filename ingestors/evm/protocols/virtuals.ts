import type { Log } from '../../../schemas/events.ts'
import { decodeAddress } from '../abi/result.ts'
import { addressIn, topicAddress, wordsOf } from '../abi/words.ts'
import type { PoolVerification, VerificationContext } from '../verify/contract.ts'
import { type DecodedEvent, type EvmEvent, type EvmFamily, invalidAmounts } from './types.ts'

/** What every curve is paid in: VIRTUAL on Base. */
const VIRTUAL = '0x0b3e328455c4059eeb9e3f84b5543f74e24e7e1b'

/** In and out of the launched token, then in and out of VIRTUAL: another order than in Uniswap V2. */
const swap = ({ address: pool, data }: Log): DecodedEvent => {
  const [tokenIn = 0n, tokenOut = 0n, quoteIn = 0n, quoteOut = 0n] = wordsOf(data, 4)
  const buys = quoteIn > quoteOut || tokenOut > tokenIn
  const amountInRaw = buys ? quoteIn - quoteOut : tokenIn - tokenOut
  const amountOutRaw = buys ? tokenOut - tokenIn : quoteOut - quoteIn
  return (
    invalidAmounts(amountInRaw, amountOutRaw) ?? {
      kind: 'swap',
      pool,
      defaultProtocol: 'virtuals',
      tokenIn: buys ? 1 : 0,
      tokenOut: buys ? 0 : 1,
      unordered: 'pair',
      amountInRaw,
      amountOutRaw,
    }
  )
}

/** Token and curve are made; what the token is called it says itself. */
const tokenLaunch =
  (trades: boolean) =>
  ({ topics }: Log): DecodedEvent => ({
    kind: 'token-created',
    token: topicAddress(topics[1]),
    metadata: {},
    dev: null,
    pool: topicAddress(topics[2]),
    quote: VIRTUAL,
    ...(trades && { opens: { tokensRaw: null } }),
  })

/** A curve made before opens. */
const opening = ({ address: factory, topics }: Log): DecodedEvent => ({
  kind: 'pool',
  pool: topicAddress(topics[2]),
  factory,
  tokens: [topicAddress(topics[1]), VIRTUAL],
  feePips: null,
  opens: true,
})

/** A factory makes a curve, of which it says no more than Uniswap's does of a pair: the token, then what it is paid in. */
const made = ({ address: factory, topics, data }: Log): DecodedEvent => ({
  kind: 'pool',
  pool: addressIn(data, 0),
  factory,
  tokens: [topicAddress(topics[1]), topicAddress(topics[2])],
  feePips: null,
  opens: false,
})

const TOKEN_A = '0x0fc63d10' // tokenA()
const TOKEN_B = '0x5f64b55b' // tokenB()
const GET_PAIR = '0xe6a43905' // getPair(address,address)
const TOKEN_INFO = '0xf5dab711' // tokenInfo(address)

const word = (address: string): string => address.slice(2).padStart(64, '0')

const tokensOf = ({
  results: given,
}: VerificationContext): readonly [string, string] | undefined => {
  const tokenA = decodeAddress(given[0])
  const tokenB = decodeAddress(given[1])
  return tokenA === null || tokenB === null ? undefined : [tokenA, tokenB]
}

/**
 * A curve names its tokens; a listed factory then names the curve of both, or a listed launchpad the curve of the token.
 * Either kind of contract is asked both and reverts on the other's call. Sources: FFactory.sol `getPair`, Bonding.sol
 * `tokenInfo` (creator, token, pair, ...).
 */
const verification: PoolVerification = {
  ask: (pool) => [TOKEN_A, TOKEN_B].map((data) => ({ to: pool, data })),
  confirm: (context) => {
    const tokens = tokensOf(context)
    if (tokens === undefined) return []
    const [tokenA, tokenB] = tokens
    return context.listed.flatMap(({ factory }) => [
      { to: factory, data: GET_PAIR + word(tokenA) + word(tokenB) },
      { to: factory, data: TOKEN_INFO + word(tokenA) },
    ])
  },
  conclude: (context, confirmed) => {
    const tokens = tokensOf(context)
    if (tokens === undefined) return undefined
    const { pool, listed } = context
    const [tokenA, tokenB] = tokens
    const names = listed.find((_, index) => {
      const [pair, info] = confirmed.slice(2 * index)
      return (
        decodeAddress(pair) === pool ||
        (decodeAddress(info, 1) === tokenA && decodeAddress(info, 2) === pool)
      )
    })
    return {
      address: pool,
      tokenA,
      tokenB,
      protocol: names?.row.id ?? null,
      factory: names?.factory ?? null,
      feePips: names?.row.feePips ?? null,
      verified: names !== undefined,
    }
  },
}

const launchEvent = (signature: string, words: number, read: EvmEvent['read']): EvmEvent => ({
  signature,
  by: 'singleton',
  topics: 3,
  words,
  read,
})

const FROM = 'address indexed token, address indexed pair, uint256 virtualId'
const PARAMS =
  '(uint8 launchMode, uint16 airdropBips, bool needAcf, uint8 antiSniperTaxType, bool isProject60days) launchParams'

/**
 * The Virtuals launchpad: each curve is a contract, paid in VIRTUAL. From the second version on a token is made first and
 * launched later. Source: Virtual-Protocol/protocol-contracts contracts/fun, contracts/launchpadv2.
 */
export const virtuals: EvmFamily = {
  family: 'virtuals',
  verification,
  events: {
    '0x714aa39317ad9a7a7a99db52b44490da5d068a0b2710fffb1a1282ad3cadae1f': launchEvent(
      `Launched(${FROM})`,
      1,
      tokenLaunch(true),
    ),
    '0xac073481b1bc4233bf4afdfbb03f87ea97b0bb2c0305808d5614c824afb4e8b0': launchEvent(
      `PreLaunched(${FROM}, uint256 initialPurchase)`,
      2,
      tokenLaunch(false),
    ),
    '0xd113672859919fb75607f9e7df716114585bc03e2c4cb89ca2b2a7e8220c90bc': launchEvent(
      `Launched(${FROM}, uint256 initialPurchase, uint256 initialPurchasedAmount)`,
      3,
      opening,
    ),
    '0xb9ee8aa6d909a3efd0bf1b0bc2bde7f998f7ad30178b0d45f9227f5382cebc8f': launchEvent(
      `PreLaunched(${FROM}, uint256 initialPurchase, ${PARAMS})`,
      3,
      tokenLaunch(false),
    ),
    '0x6ed5dc54f1333f448f2cdf7a6efc675343f880035d6f647fb7f6e9cbf8959718': launchEvent(
      `Launched(${FROM}, uint256 initialPurchase, uint256 initialPurchasedAmount, ${PARAMS})`,
      4,
      opening,
    ),
    '0x381d54fa425631e6266af114239150fae1d5db67bb65b4fa9ecc65013107e07e': {
      signature: 'Graduated(address indexed token, address agentToken)',
      by: 'singleton',
      topics: 2,
      words: 1,
      read: ({ topics, data }) => ({
        kind: 'migration',
        token: topicAddress(topics[1]),
        pooled: addressIn(data, 0),
        curve: null,
        certain: true,
      }),
    },
    '0x0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9': {
      signature:
        'PairCreated(address indexed tokenA, address indexed tokenB, address pair, uint256 count)',
      by: 'factory',
      topics: 3,
      words: 1,
      read: made,
    },
    '0x298c349c742327269dc8de6ad66687767310c948ea309df826f5bd103e19d207': {
      signature:
        'Swap(uint256 amount0In, uint256 amount0Out, uint256 amount1In, uint256 amount1Out)',
      by: 'pool',
      topics: 1,
      words: 4,
      read: swap,
    },
  },
}
