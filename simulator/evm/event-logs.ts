import { encodeAbiParameters, type Hex, pad, parseAbi, toEventSelector } from 'viem'

/** One log as a contract emits it, before it has its place in a block. Its data is encoded at the first reading and then kept. */
export interface RawLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
}

const EVENTS = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Deposit(address indexed dst, uint256 wad)',
  'event Withdrawal(address indexed src, uint256 wad)',
  'event PairCreated(address indexed token0, address indexed token1, address pair, uint256)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
  'event Mint(address indexed sender, uint256 amount0, uint256 amount1)',
  'event Burn(address indexed sender, uint256 amount0, uint256 amount1, address indexed to)',
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
])

const EVENTS_V3 = parseAbi([
  'event PoolCreated(address indexed token0, address indexed token1, uint24 indexed fee, int24 tickSpacing, address pool)',
  'event Initialize(uint160 sqrtPriceX96, int24 tick)',
  'event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
  'event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1)',
  'event Collect(address indexed owner, address recipient, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount0, uint128 amount1)',
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
])

type Event = (typeof EVENTS)[number] | (typeof EVENTS_V3)[number]
type Value = bigint | number | string

/** Builds one kind of log from the values of its arguments in the order of the declaration. */
type LogEncoder = (address: Hex, ...values: readonly Value[]) => RawLog

/** Values of indexed arguments come from a small set (wallets, pools, ticks), so their words are kept; the bound is for safety. */
const MAX_CACHED_WORDS = 50_000

const logEncoder = (event: Event): LogEncoder => {
  const selector = toEventSelector(event)
  const indexed = event.inputs.map((input) => 'indexed' in input && input.indexed === true)
  const plain = event.inputs.filter((_, at) => !indexed[at])
  const words = new Map<Value, Hex>()
  const topicOf = (value: Value, at: number): Hex => {
    const key = `${at}${value}`
    const known = words.get(key)
    if (known !== undefined) return known
    if (words.size >= MAX_CACHED_WORDS) words.clear()
    const type = event.inputs[at]?.type ?? ''
    const word =
      typeof value === 'string' ? pad(value as Hex) : encodeAbiParameters([{ type }], [value])
    words.set(key, word)
    return word
  }
  const topicIndexes = event.inputs.flatMap((_, at) => (indexed[at] ? [at] : []))
  const dataIndexes = event.inputs.flatMap((_, at) => (indexed[at] ? [] : [at]))
  return (address, ...values) => {
    const topics: Hex[] = [selector]
    for (const at of topicIndexes) topics.push(topicOf(values[at] ?? 0, at))
    let data: Hex | undefined
    return {
      address,
      topics,
      get data() {
        data ??= encodeAbiParameters(
          plain,
          dataIndexes.map((at) => values[at]),
        )
        return data
      },
    }
  }
}

const logEncoderFor = (events: readonly Event[], name: string): LogEncoder => {
  const event = events.find((candidate) => candidate.name === name)
  if (event === undefined) throw new RangeError(`no event ${name}`)
  return logEncoder(event)
}

/** Logs of the contracts of this scenario, by event; arguments as declared. */
export const LOG_ENCODERS = {
  transfer: logEncoderFor(EVENTS, 'Transfer'),
  deposit: logEncoderFor(EVENTS, 'Deposit'),
  withdrawal: logEncoderFor(EVENTS, 'Withdrawal'),
  pairCreated: logEncoderFor(EVENTS, 'PairCreated'),
  sync: logEncoderFor(EVENTS, 'Sync'),
  mintV2: logEncoderFor(EVENTS, 'Mint'),
  burnV2: logEncoderFor(EVENTS, 'Burn'),
  swapV2: logEncoderFor(EVENTS, 'Swap'),
  poolCreated: logEncoderFor(EVENTS_V3, 'PoolCreated'),
  initialize: logEncoderFor(EVENTS_V3, 'Initialize'),
  mintV3: logEncoderFor(EVENTS_V3, 'Mint'),
  burnV3: logEncoderFor(EVENTS_V3, 'Burn'),
  collect: logEncoderFor(EVENTS_V3, 'Collect'),
  swapV3: logEncoderFor(EVENTS_V3, 'Swap'),
} as const
