import type { RustOperation } from './rust-operations.ts'

/** A traded token and a trading wallet of the demo, by the name of their chain in the SDK. */
export interface CompleteExample {
  readonly chain: string
  readonly token: string
  readonly pool: string
  readonly wallet: string
  /** The other token of the pool, and who made the token. */
  readonly quote: string
  readonly creator: string
}

/** By the account of private key 1 for Ethereum, and of 32 bytes of 17 for Solana; nothing is sent, because the demo has no node. */
const SIGNED_TX: Readonly<Record<string, string>> = {
  eth: 'AvhqAYCEO5rKAIR3NZQAglIIlBERERERERERERERERERERERERERgIDAgKCuwnZQjbv1Q6MsgGVQFbQ8QVjC8+qSUR23Mwbqm5SmoKAVmDDF2v9mx+vCHQg1etdIU8orfz7arBZVeQVhpeUU7g==',
  sol: 'AcpDteAb1ehjNmphfJSwIQWAtK4QgAbiQYdH2nX0x7XdVsSL5hVn5x6gqC2X9qwO1vbLwZAEAEE2Ae02pun/RACAAQABAtBKsjJ0K7SrOhNovUYV5ObQIkq3GgFrr4UgozLJd4c3AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEBAgABDAIAAAABAAAAAAAAAAA=',
}
/** The crate names two for quotes. */
const QUOTED_DEX = 'pumpfun'
const AMOUNT = '1000000000000'
const anAddress = (digit: string): string => `0x${digit.repeat(40)}`

const givenDex = (chain: string): string => (chain === 'sol' ? 'jupiter' : 'kyberswap')

const bodiesOf = ({
  chain,
  token,
  pool,
  wallet,
  quote,
}: CompleteExample): Readonly<Record<string, object>> => {
  const trade = { dex: givenDex(chain), userAddress: wallet, amount: AMOUNT, swapMode: 'ExactIn' }
  const swap = { ...trade, slippage: 1, inputMint: token, outputMint: quote }
  const extra = { buyAmount: '100000000', slippage: 1 }
  const called = { name: 'Lucky Otter', symbol: 'OTTER', uri: 'ipfs://Qm' }
  return {
    route: swap,
    swap: { ...swap, poolAddress: pool },
    create_token: { dex: 'pumpfun', userAddress: wallet, ...called, extra },
    claim_redpacket: { claimer: anAddress('1'), shareId: '7TqVxm3Kfa' },
    create_redpacket: {
      creator: anAddress('1'),
      mint: anAddress('0'),
      maxClaims: 1,
      totalAmount: '10',
    },
    redpacket_send: { signedTx: SIGNED_TX[chain] },
    send: { signedTx: SIGNED_TX[chain] },
    get_gas_limit: { from: anAddress('1'), to: anAddress('2'), data: '0x' },
    calculate_pnl: {},
  }
}

const wordsOf = (example: CompleteExample): Readonly<Record<string, unknown>> => {
  const { chain, token, pool, wallet, quote, creator } = example
  return {
    chain,
    token_address: token,
    token_addresses: token,
    pair: `${token}-${quote}`,
    pool_address: pool,
    wallet_address: wallet,
    wallet_addresses: wallet,
    dev_address: creator,
    resolution: '1m',
    timestamp: Date.now(),
    duration: '1h',
    ranking_type: 'new-pool',
    dex: QUOTED_DEX,
    amount: AMOUNT,
    input_mint: token,
    output_mint: quote,
    exact_in: true,
    slippage: 1,
    id: 'x',
    address: wallet,
    // The demo has no chain with prediction markets: no wallet, event or condition is known.
    wallet: anAddress('a'),
    event_slug: 'x',
    condition_id: `0x${'c0'.repeat(32)}`,
  }
}

/** What an operation is called with: its required parameters. */
export const rustArguments = (
  { name, parameters }: RustOperation,
  example: CompleteExample,
): Readonly<Record<string, unknown>> => {
  if (name === 'search') return { q: example.token, chains: [example.chain] }
  const words = { ...wordsOf(example), body: bodiesOf(example)[name] }
  // A window of profits is another kind of resolution.
  const known = name === 'get_pnl_details' ? { ...words, resolution: 'all' } : words
  const required = parameters.filter(({ isRequired }) => isRequired)
  return Object.fromEntries(
    required.map((parameter) => [parameter.name, known[parameter.name as keyof typeof known]]),
  )
}
