import type { Books } from '../../ingestors/decode-contract.ts'
import { protocolBook } from '../../ingestors/protocols/book.ts'
import type { Log, PoolFact } from '../../schemas/events.ts'
import { logOf } from './recordings.ts'

/** Addresses of made-up contracts; TOKEN_A sorts below TOKEN_B. */
export const TOKEN_A = `0x${'0a'.repeat(20)}`
export const TOKEN_B = `0x${'0b'.repeat(20)}`
export const POOL = `0x${'cc'.repeat(20)}`
export const ROUTER = `0x${'dd'.repeat(20)}`
export const USER = `0x${'ee'.repeat(20)}`

/** First topics, written out again here so that a wrong table is found. */
export const TOPIC = {
  transfer: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  deposit: '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c',
  withdrawal: '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65',
  v2Swap: '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822',
  v2Sync: '0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1',
  v2Mint: '0x4c209b5fc8ad50758f13e2e1088ba56a560dff690a1c6fef26394f4c03821c4f',
  v2Burn: '0xdccd412f0b1252819cb1fd330b93224ca42612892bb3f4f789976e6d81936496',
  pairCreated: '0x0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9',
  v3Swap: '0xc42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67',
  pancakeV3Swap: '0x19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83',
  v3Initialize: '0x98636036cb66a9c19a37435efc1e90142190214e8abeb821bdba3f2990dd4c95',
  v3Mint: '0x7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde',
  v3Burn: '0x0c396cd989a39f4459b5fa1aed6a9a8dcdbc45908acfd67e028cd568da98982c',
  v3Collect: '0x70935338e69775456a85ddef226c395fb668b63fa0115f5f20610b388e6ca9c0',
  poolCreated: '0x783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118',
  userOperation: '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f',
} as const

type Words = readonly (bigint | string)[]

/** An address as a topic. */
export const topicOf = (address: string): string => `0x${'0'.repeat(24)}${address.slice(2)}`

/** A token's Transfer log. */
export const transfer = (
  token: string,
  from: string,
  to: string,
  amount: bigint,
): Omit<Log, 'index'> => logOf(token, [TOPIC.transfer, topicOf(from), topicOf(to)], [amount])

/** A V2 Swap log with amounts in0, in1, out0, out1. */
export const v2Swap = (amounts: Words, pool = POOL): Omit<Log, 'index'> =>
  logOf(pool, [TOPIC.v2Swap, topicOf(ROUTER), topicOf(USER)], amounts)

/** A V2 Sync log. */
export const v2Sync = (reserves: Words, pool = POOL): Omit<Log, 'index'> =>
  logOf(pool, [TOPIC.v2Sync], reserves)

/** A V3 Swap log with amount0, amount1, price, liquidity, tick. */
export const v3Swap = (amounts: Words, pool = POOL): Omit<Log, 'index'> =>
  logOf(pool, [TOPIC.v3Swap, topicOf(ROUTER), topicOf(USER)], amounts)

/** Facts of POOL. */
export const poolFact = (protocol: string, proven = true): PoolFact => ({
  address: POOL,
  tokenA: TOKEN_A,
  tokenB: TOKEN_B,
  protocol,
  factory: ROUTER,
  feePips: 3000,
  proven,
})

/** Books with these facts. */
export const booksOf = (proof: Books['proof'], facts: readonly PoolFact[] = []): Books => ({
  proof,
  protocols: protocolBook('eth'),
  pool: (address) => facts.find((fact) => fact.address === address),
})
