import type { DecodeContext } from '../../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../../ingestors/decode/protocol-registry.ts'
import type { Log, PoolMetadata } from '../../../schemas/events.ts'
import { buildLog } from '../recordings/ethereum.ts'

/** Addresses of synthetic contracts; TOKEN_A sorts below TOKEN_B. */
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
  ramsesMint: '0xd78218c0d304e8893cb3200abe394bbc8d5b7804d9c51f236df9fdcf481d02d3',
  algebraSwap: '0x121cb44ee54098b1a04743c487e7460d8dd429b27f88b1f4d4767396e1a59f79',
  algebraBurn: '0x932214d4a69c27c086643126ed97c32681da179064c678836c173f99bd13ca01',
  algebraPool: '0x91ccaa7a278130b65168c3a0c8d3bcae84cf5e43704342bd3ec0b59e59c036db',
  algebraCustomPool: '0x8a5f030f5fc13b04a1e4ef7c47177e3d76b0e80e1d9be9843db37caa5b7b9b8f',
  slipstreamPool: '0xab0d57f0df537bb25e80245ef7748fa62353808c54d6e528a9dd20887aed9ac2',
  solidlySwap: '0xb3e2773606abfd36b5bd91394b3a54d1398336c65005baf7bf7a05efeffaf75b',
  solidlySync: '0xcf2aa50876cdfbb541206f89af0ee78d44a2abf8d328e37fa4917f982149848a',
  solidlyBurn: '0x5d624aa9c148153ab3446c1b154f660ee7701e549fe9b62dab7171b1c80e6fa2',
  solidlyPool: '0x2128d88d14c80cb081c1252a5acff7a264671bf199ce226b53788fb26065005e',
  solidlyPair: '0xc4805696c66d7cf352fc1d6bb633ad5ee82f6cb577c453024b6e0eb8306c6fc9',
  binSwap: '0xad7d6f97abf51ce18e17a38f4d70e975be9c0708474987bb3e26ad21bd93ca70',
  binSwapV20: '0xc528cda9e500228b16ce84fadae290d9a49aecb17483110004c5af0a07f6fd73',
  binsDeposit: '0x87f1f9dcf5e8089a3e00811b6a008d8f30293a3da878cb1fe8c90ca376402f8a',
  binsWithdraw: '0xa32e146844d6144a22e94c586715a1317d58a8aa3581ec33d040113ddcb24350',
  binDeposit: '0x4216cc3bd0c40a90259d92f800c06ede5c47765f41a488072b7e7104a1f95841',
  binWithdraw: '0xda5e7177dface55f5e0eff7dfc67420a1db4243ddfcf0ecc84ed93e034dd8cc2',
  binPair: '0x2c8d104b27c6b7f4492017a6f5cf3803043688934ebcaa6a03540beeaf976aff',
  infinitySwap: '0x04206ad2b7c0f463bff3dd4f33c5735b0f2957a351e4f79763a4fa9e775dd237',
  infinityBinSwap: '0x3e8aae37f890eb1f9d63dd4d2062f3f0be757848a0f0760e4f3e53dad556e861',
  infinityBinMint: '0x7b6bc49b385af8644341f07a67cd976bf9daf2bdd5d71668e651a3a792e318e1',
  infinityBinBurn: '0x16d40aa4e497175b58e47cbf101544758de8c01d92a760c738943044c758df8a',
  modifyLiquidity: '0xf208f4912782fd25c7f114ca3723a2d5dd6f3bcc3ac8db5af63baa85f711d5ec',
  infinityPool: '0x426cc62fe6a33a40ba2788c2c87a9c34ee4582b95bc9fa5a7bb7ae70b750b99c',
  infinityBinPool: '0xddfde5903015c0eb1671976c6c8f760f1328bec57f15286b6bdab2f955cab9c9',
  syncMint: '0xa8137fff86647d8a402117b9c5dbda627f721d3773338fb9678c83e54ed39080',
  syncBurn: '0xd175a80c109434bb89948928ab2475a6647c94244cb70002197896423c883363',
  syncPool: '0x4318beca5ca4f759b99c1f5f581fa8255b077a82e4c07f17213c471af5a0f56a',
  coinWithdrawal: '0x2717ead6b9200dd235aad468c9809ea400fe33ac69b5bfaa6d3e90fc922b6398',
  userOperation: '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f',
  clankerCreated: '0x9299d1d1a88d8e1abdc591ae7a167a6bc63a8f17d695804e9091ee33aa89fb67',
  positionSplit: '0x2e6bb91f8cbcda0c93623c54d0403a43514fabc40084ec96b6d5379a74786298',
  positionsMerge: '0x6f13ca62553fcc2bcd2372180a43949c1e4cebba603901ede2f4e14f36b282ca',
  marketMakerBuy: '0x4f62630f51608fc8a7603a9391a5101e58bd7c276139366fc107dc3b67c3dcf8',
  marketMakerSell: '0xadcf2a240ed9300d681d9a3f5382b6c1beed1b7e46643e0c7b42cbe6e2d766b4',
} as const

type LogWords = readonly (bigint | string)[]

/** An address as a topic. */
export const addressTopic = (address: string): string => `0x${'0'.repeat(24)}${address.slice(2)}`

/** A token's Transfer log. */
export const transferLog = (
  token: string,
  from: string,
  to: string,
  amount: bigint,
): Omit<Log, 'index'> =>
  buildLog(token, [TOPIC.transfer, addressTopic(from), addressTopic(to)], [amount])

/** A V2 Swap log with amounts in0, in1, out0, out1. */
export const v2SwapLog = (amounts: LogWords, pool = POOL): Omit<Log, 'index'> =>
  buildLog(pool, [TOPIC.v2Swap, addressTopic(ROUTER), addressTopic(USER)], amounts)

/** A V2 Sync log. */
export const v2SyncLog = (reserves: LogWords, pool = POOL): Omit<Log, 'index'> =>
  buildLog(pool, [TOPIC.v2Sync], reserves)

/** A V3 Swap log with amount0, amount1, price, liquidity, tick. */
export const v3SwapLog = (amounts: LogWords, pool = POOL): Omit<Log, 'index'> =>
  buildLog(pool, [TOPIC.v3Swap, addressTopic(ROUTER), addressTopic(USER)], amounts)

/** Facts of POOL. */
export const buildPoolMetadata = (protocol: string, verified = true): PoolMetadata => ({
  address: POOL,
  tokenA: TOKEN_A,
  tokenB: TOKEN_B,
  protocol,
  factory: ROUTER,
  feePips: 3000,
  verified,
})

/** Books with these facts. */
export const buildDecodeContext = (
  proof: DecodeContext['verification'],
  facts: readonly PoolMetadata[] = [],
  chain = 'eth',
): DecodeContext => ({
  verification: proof,
  protocols: protocolRegistry(chain),
  pool: (address) => facts.find((fact) => fact.address === address),
})
