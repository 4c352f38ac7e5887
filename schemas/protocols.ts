import type { Vm } from './chains.ts'

/** Virtual machine whose blocks a family reads: its decoder is a file under `protocols/` beside that machine's. */
type FamilyVm =
  | { readonly vm: Exclude<Vm, 'svm'> }
  /** `log`: its decoder reads lines of the log, so they are kept; `data`: it reads instructions and calls alone. */
  | { readonly vm: 'svm'; readonly reads: 'log' | 'data' }

/**
 * How pools of a family keep liquidity and price; `none`: it has no pools with a price of their own, or several designs that its
 * logs do not distinguish.
 */
export type PoolDesign =
  | 'constant-product'
  | 'concentrated'
  | 'bonding-curve'
  | 'stable'
  | 'weighted'
  | 'none'

/** What holds for every protocol of a decoder family. */
type FamilyRow = FamilyVm & {
  readonly design: PoolDesign
  /** Which version of the design its pools are, where versions are counted. */
  readonly version?: number
  /** Pools tell their reserves to a caller (`getReserves()`); of EVM families the others tell a square root price (`slot0()`). */
  readonly tellsReserves?: true
  /** Swaps keep the product of the reserves but for a fee, and reserves are logged. */
  readonly constantProduct?: true
  /** Constant product without weights: at the pool's own price both sides are worth the same. */
  readonly evenSides?: true
  /** Holds gifts that several addresses share; nothing is traded. */
  readonly isRedPacket?: true
  /** Its contracts keep a list of addresses: what a listed address is labelled with; nothing is traded. */
  readonly labels?: 'sanctions' | 'issuer_frozen'
}

/** Decoder families. A family without a decoder does not compile. */
const FAMILIES = {
  uniswap_v2: {
    vm: 'evm',
    design: 'constant-product',
    version: 2,
    constantProduct: true,
    evenSides: true,
    tellsReserves: true,
  },
  uniswap_v3: { vm: 'evm', design: 'concentrated', version: 3 },
  uniswap_v4: { vm: 'evm', design: 'concentrated' },
  curve: { vm: 'evm', design: 'stable' },
  balancer_v2: { vm: 'evm', design: 'weighted', version: 2 },
  balancer_v3: { vm: 'evm', design: 'weighted', version: 3 },
  solidly: { vm: 'evm', design: 'constant-product', tellsReserves: true },
  liquidity_book: { vm: 'evm', design: 'concentrated' },
  pancake_infinity: { vm: 'evm', design: 'concentrated' },
  syncswap: { vm: 'evm', design: 'constant-product', tellsReserves: true },
  four_meme: { vm: 'evm', design: 'bonding-curve' },
  open_four: { vm: 'evm', design: 'bonding-curve' },
  clanker: { vm: 'evm', design: 'none' },
  virtuals: { vm: 'evm', design: 'bonding-curve' },
  polymarket: { vm: 'evm', design: 'none' },
  red_packets: { vm: 'evm', design: 'none', isRedPacket: true },
  happy_red_packet: { vm: 'evm', design: 'none', isRedPacket: true },
  sanctions_oracle: { vm: 'evm', design: 'none', labels: 'sanctions' },
  issuer_freezes: { vm: 'evm', design: 'none', labels: 'issuer_frozen' },
  pump_fun: { vm: 'svm', design: 'bonding-curve', reads: 'data' },
  pumpswap: { vm: 'svm', design: 'constant-product', reads: 'data', evenSides: true },
  raydium_amm_v4: { vm: 'svm', design: 'constant-product', reads: 'log', evenSides: true },
  raydium_cpmm: { vm: 'svm', design: 'constant-product', reads: 'log', evenSides: true },
  raydium_clmm: { vm: 'svm', design: 'concentrated', reads: 'log' },
  raydium_launchlab: { vm: 'svm', design: 'bonding-curve', reads: 'data' },
  orca_whirlpool: { vm: 'svm', design: 'concentrated', reads: 'log' },
  meteora_dlmm: { vm: 'svm', design: 'concentrated', reads: 'data' },
  meteora_damm_v2: { vm: 'svm', design: 'concentrated', reads: 'data' },
  meteora_dbc: { vm: 'svm', design: 'bonding-curve', reads: 'data' },
  meteora_damm_v1: { vm: 'svm', design: 'constant-product', reads: 'log' },
  moonshot: { vm: 'svm', design: 'bonding-curve', reads: 'log' },
  mask_red_packet: { vm: 'svm', design: 'none', reads: 'data', isRedPacket: true },
  cetus: { vm: 'move', design: 'concentrated' },
  cetus_dlmm: { vm: 'move', design: 'concentrated' },
  turbos: { vm: 'move', design: 'concentrated' },
  momentum: { vm: 'move', design: 'concentrated' },
  bluefin: { vm: 'move', design: 'concentrated' },
  deepbook: { vm: 'move', design: 'none' },
  aftermath: { vm: 'move', design: 'none' },
} as const satisfies Record<string, FamilyRow>

/** A decoder family. */
export type Family = keyof typeof FAMILIES

/** Families of one virtual machine. */
export type FamilyOf<Machine extends Vm> = {
  [Name in Family]: (typeof FAMILIES)[Name]['vm'] extends Machine ? Name : never
}[Family]

const familyRow = (family: Family): FamilyRow => FAMILIES[family]

/**
 * A factory's function that names a pool: by its two tokens and, after the underscore, what else tells pools of a pair apart.
 * `is_pool`: the factory only says whether it made the pool.
 */
export type PoolLookup =
  | 'pair'
  | 'pool_fee'
  | 'pool_tick_spacing'
  | 'pool_stable'
  | 'pool_by_pair'
  | 'pair_stable'
  | 'is_pool'

/**
 * One row per DEX: which factory makes its pools, and which decoder family reads their events.
 * Factories are those that each DEX publishes; those of Pangolin, Biswap, ShibaSwap, BaseSwap, Alien Base and
 * THENA are as several public repositories name them. Adding a DEX on a known family is adding a row.
 */
export interface ProtocolRow {
  /** Snake-case id on the wire and in tables. */
  readonly id: string
  /** Display name. */
  readonly name: string
  /** Decoder family that reads its events. */
  readonly family: Family
  /** Families whose events its pools log too. */
  readonly compatibleFamilies?: readonly Family[]
  /** How the factory finds a pool, where not as the family's first protocol does. */
  readonly lookup?: PoolLookup
  /** Fee of every pool in hundredths of a basis point, where the pools do not say it themselves. */
  readonly feePips?: number
  /** Makes tokens and sells them along a curve until they migrate. */
  readonly launchpad?: true
  /** Base units that a curve usually sells before it is complete; a curve's own opening says otherwise. */
  readonly curveTokensRaw?: bigint
  /** Its curves also hold tokens that they do not sell: how far one is stands in its trades, or nowhere. */
  readonly curveKeepsTokens?: true
  /** Some of its pools price along another curve: what they hold tells no price. */
  readonly mixedCurves?: true
  /** Version of Liquidity Book by which its pools price, where that is known: as its router numbers them. */
  readonly bookVersion?: 2 | 3
  /** Its pools log a swap before the reserves that it leaves; others log those first. */
  readonly swapsFirst?: true
  /** Factory addresses by chain id, lower case; on Solana the program, on Sui the package that first defined its events. */
  readonly factories: Readonly<Record<string, readonly string[]>>
  /** Contracts for which the factory makes pools that its look-up by tokens does not tell: it is asked for theirs too. */
  readonly deployers?: readonly string[]
  /** Contracts by chain id that are asked about its pools beside or in place of the factories, and make none. */
  readonly registries?: Readonly<Record<string, readonly string[]>>
}

/** Protocols of this build. */
export const PROTOCOLS = [
  {
    id: 'uniswap_v2',
    name: 'Uniswap V2',
    family: 'uniswap_v2',
    feePips: 3000,
    factories: {
      eth: ['0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f'],
      optimism: ['0x0c3c1c532f1e39edf36be9fe0be1410313e074bf'],
      arbitrum: ['0xf1d7cc64fb4452f05c498126312ebe29f30fbcf9'],
      avalanche: ['0x9e5a52f57b3038f1b8eee45f28b3c1967e22799c'],
      polygon: ['0x9e5a52f57b3038f1b8eee45f28b3c1967e22799c'],
      base: ['0x8909dc15e40173ff4699343b6eb8132c65e18ec6'],
      bsc: ['0x8909dc15e40173ff4699343b6eb8132c65e18ec6'],
    },
  },
  {
    id: 'sushiswap_v2',
    name: 'SushiSwap',
    family: 'uniswap_v2',
    feePips: 3000,
    factories: {
      eth: ['0xc0aee478e3658e2610c5f7a4a2e1777ce9e4f2ac'],
      polygon: ['0xc35dadb65012ec5796536bd9864ed8773abc74c4'],
      arbitrum: ['0xc35dadb65012ec5796536bd9864ed8773abc74c4'],
      bsc: ['0xc35dadb65012ec5796536bd9864ed8773abc74c4'],
      avalanche: ['0xc35dadb65012ec5796536bd9864ed8773abc74c4'],
      optimism: ['0xfbc12984689e5f15626bad03ad60160fe98b303c'],
      base: ['0x71524b4f93c58fcbf659783284e38825f0622859'],
    },
  },
  {
    id: 'pancakeswap_v2',
    name: 'PancakeSwap V2',
    family: 'uniswap_v2',
    feePips: 2500,
    factories: {
      eth: ['0x1097053fd2ea711dad45caccc45eff7548fcb362'],
      bsc: ['0xca143ce32fe78f1f7019d7d551a6402fc5350c73'],
      arbitrum: ['0x02a84c1b3bbd7401a5f7fa98a384ebc70bb5749e'],
      base: ['0x02a84c1b3bbd7401a5f7fa98a384ebc70bb5749e'],
      zksync: ['0xd03d8d566183f0086d8d09a84e1e30b58dd5619d'],
    },
  },
  {
    id: 'uniswap_v3',
    name: 'Uniswap V3',
    family: 'uniswap_v3',
    factories: {
      eth: ['0x1f98431c8ad98523631ae4a59f267346ea31f984'],
      optimism: ['0x1f98431c8ad98523631ae4a59f267346ea31f984'],
      arbitrum: ['0x1f98431c8ad98523631ae4a59f267346ea31f984'],
      polygon: ['0x1f98431c8ad98523631ae4a59f267346ea31f984'],
      bsc: ['0xdb1d10011ad0ff90774d0c6bb92e5c5c8b4461f7'],
      avalanche: ['0x740b1c1de25031c31ff4fc9a62f554a55cdc1bad'],
      base: ['0x33128a8fc17869897dce68ed026d694621f6fdfd'],
      zksync: ['0x8fda5a7a8dca67bbcdd10f02fa0649a937215422'],
    },
  },
  {
    id: 'sushiswap_v3',
    name: 'SushiSwap V3',
    family: 'uniswap_v3',
    factories: {
      eth: ['0xbaceb8ec6b9355dfc0269c18bac9d6e2bdc29c4f'],
      arbitrum: ['0x1af415a1eba07a4986a52b6f2e7de7003d82231e'],
      optimism: ['0x9c6522117e2ed1fe5bdb72bb0ed5e3f2bde7dbe0'],
      polygon: ['0x917933899c6a5f8e37f31e19f92cdbff7e8ff0e2'],
      avalanche: ['0x3e603c14af37ebdad31709c4f848fc6ad5bec715'],
      bsc: ['0x126555dd55a39328f69400d6ae4f782bd4c34abb'],
    },
  },
  {
    id: 'pancakeswap_v3',
    name: 'PancakeSwap V3',
    family: 'uniswap_v3',
    factories: {
      eth: ['0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865'],
      bsc: ['0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865'],
      arbitrum: ['0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865'],
      base: ['0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865'],
      zksync: ['0x1bb72e0cbbea93c08f535fc7856e0338d7f7a8ab'],
    },
  },
  {
    id: 'uniswap_v4',
    name: 'Uniswap V4',
    family: 'uniswap_v4',
    // Deployments: docs.uniswap.org contracts/v4/deployments. PoolManager, and the PositionManager that keeps keys.
    factories: {
      eth: ['0x000000000004444c5dc75cb358380d2e3de08a90'],
      bsc: ['0x28e2ea090877bf75740558f6bfb36a5ffee9e9df'],
      base: ['0x498581ff718922c3f8e6a244956af099b2652b2b'],
      polygon: ['0x67366782805870060151383f4bbff9dab53e5cd6'],
      arbitrum: ['0x360e68faccca8ca495c1b759fd9eee466db9fb32'],
      optimism: ['0x9a13f98cb987694c9f086b1f5eb990eea8264ec3'],
      avalanche: ['0x06380c0e0912312b5150364b9dc4542ba0dbbc85'],
    },
    registries: {
      eth: ['0xbd216513d74c8cf14cf4747e6aaa6420ff64ee9e'],
      bsc: ['0x7a4a5c919ae2541aed11041a1aeee68f1287f95b'],
      base: ['0x7c5f5a4bbd8fd63184577525326123b519429bdc'],
      polygon: ['0x1ec2ebf4f37e7363fdfe3551602425af0b3ceef9'],
      arbitrum: ['0xd88f38f930b7952f2db2432cb002e7abbf3dd869'],
      optimism: ['0x3c3ea4b57a46241e54610e5f022e5c45859a1017'],
      avalanche: ['0xb74b1f14d2754acfcbbe1a221023a5cf50ab8acd'],
    },
  },
  {
    id: 'curve',
    name: 'Curve',
    family: 'curve',
    // Sources: curvefi/metaregistry scripts/address_provider_constants.py, deployments.yaml; curve-docs deployment-data.json.
    // Factories of stable, crypto, crvUSD, tricrypto-ng, stableswap-ng and twocrypto-ng pools as far as a chain has them.
    factories: {
      eth: [
        '0xb9fc157394af804a3578134a6585c0dc9cc990d4',
        '0xf18056bbd320e96a48e3fbf8bc061322531aac99',
        '0x4f8846ae9380b90d2e71d5e3d042dff3e7ebb40d',
        '0x0c0e5f2ff0ff18a3be9b835635039256dc4b4963',
        '0x6a8cbed756804b16e05e741edabd5cb544ae21bf',
        '0x98ee851a00abee0d95d08cf4ca2bdce32aeaaf7f',
      ],
      bsc: [
        '0xefde221f306152971d8e9f181bfe998447975810',
        '0xbd5fbd2fa58cb15228a9abdac9ec994f79e3483c',
        '0x38f8d93406fa2d9924dcfcb67db5b0521fb20f7d',
        '0xd7e72f3615aa65b92a4dbdc211e296a35512988b',
        '0x98ee851a00abee0d95d08cf4ca2bdce32aeaaf7f',
      ],
      base: [
        '0x3093f9b57a428f3eb6285a589cb35bea6e78c336',
        '0x5ef72230578b3e399e6c6f4f6360edf95e83bbfd',
        '0xa5961898870943c68037f6848d2d866ed2016bcb',
        '0xd2002373543ce3527023c75e7518c274a51ce712',
        '0xc9fe0c63af9a39402e8a5514f9c43af0322b665f',
      ],
      polygon: [
        '0x722272d36ef0da72ff51c5a65db7b870e2e8d4ee',
        '0xe5de15a9c9bbedb4f5ec13b131e61245f2983a69',
        '0xc1b393efef38140662b91441c6710aa704973228',
        '0x1764ee18e8b3cca4787249ceb249356192594585',
        '0x98ee851a00abee0d95d08cf4ca2bdce32aeaaf7f',
      ],
      arbitrum: [
        '0xb17b674d9c5cb2e441f8e196a2f048a81355d031',
        '0xbc0797015fcfc47d9c1856639cae50d0e69fbee8',
        '0x9af14d26075f142eb3f292d5065eb3faa646167b',
        '0x98ee851a00abee0d95d08cf4ca2bdce32aeaaf7f',
      ],
      optimism: [
        '0x2db0e83599a91b508ac268a6197b8b14f5e72840',
        '0xc6c09471ee39c7e30a067952fcc89c8922f9ab53',
        '0x5eee3091f747e60a045a2e715a4c71e600e31f6e',
        '0x98ee851a00abee0d95d08cf4ca2bdce32aeaaf7f',
      ],
      avalanche: [
        '0xb17b674d9c5cb2e441f8e196a2f048a81355d031',
        '0x3d6cb2f6dcf47cdd9c13e4e3beae9af041d8796a',
        '0x1764ee18e8b3cca4787249ceb249356192594585',
        '0x98ee851a00abee0d95d08cf4ca2bdce32aeaaf7f',
      ],
      // The MetaRegistry, which asks the factories of that chain.
      zksync: ['0x48e4b27553e7643e10229ea3cba91c188dc524b1'],
    },
    // Registries of stable and crypto pools that no factory made, MetaRegistry.
    registries: {
      eth: [
        '0x90e00ace148ca3b23ac1bc8c240c2a7dd9c2d7f5',
        '0x8f942c20d02befc377d41445793068908e2250d0',
        '0xf98b45fa17de75fb1ad0e7afd971b0ca00e379fc',
      ],
      base: ['0x87dd13dd25a1dbde0e1edcf5b8fa6cfff7eabcad'],
      polygon: [
        '0x094d12e5b541784701fd8d65f11fc0598fbc6332',
        '0x47bb542b9de58b970ba50c9dae444ddb4c16751a',
        '0x296d2b5c23833a70d07c8fcbb97d846c1ff90ddd',
      ],
      arbitrum: [
        '0x445fe580ef8d70ff569ab36e80c647af338db351',
        '0x0e9fbb167df83ede3240d6a5fa5d40c6c6851e15',
        '0x13526206545e2dc7ccfbaf28dc88f440ce7ad3e0',
      ],
      optimism: [
        '0xc5cfada84e902ad92dd40194f0883ad49639b023',
        '0x7da64233fefb352f8f501b357c018158ed8aa455',
        '0xc65cb3156225380beda366610bab18d5835a1647',
      ],
      avalanche: [
        '0x8474ddbe98f5aa3179b3b3f5942d724afcdec9f6',
        '0xb6845b562f01eb02ef20cbb63553d2a768e5a1cb',
      ],
    },
  },
  {
    id: 'balancer_v2',
    name: 'Balancer V2',
    family: 'balancer_v2',
    // The Vault. Source: balancer/balancer-deployments tasks/20210418-vault.
    factories: {
      eth: ['0xba12222222228d8ba445958a75a0704d566bf2c8'],
      bsc: ['0xba12222222228d8ba445958a75a0704d566bf2c8'],
      base: ['0xba12222222228d8ba445958a75a0704d566bf2c8'],
      polygon: ['0xba12222222228d8ba445958a75a0704d566bf2c8'],
      arbitrum: ['0xba12222222228d8ba445958a75a0704d566bf2c8'],
      optimism: ['0xba12222222228d8ba445958a75a0704d566bf2c8'],
      avalanche: ['0xba12222222228d8ba445958a75a0704d566bf2c8'],
    },
  },
  {
    id: 'swaap_v2',
    name: 'Swaap V2',
    family: 'balancer_v2',
    // Its Vault, with Balancer's events. Sources: swaap-labs/swaap-v2-monorepo; llamafolio adapters.
    factories: {
      eth: ['0xd315a9c38ec871068fec378e4ce78af528c76293'],
      polygon: ['0xd315a9c38ec871068fec378e4ce78af528c76293'],
      arbitrum: ['0xd315a9c38ec871068fec378e4ce78af528c76293'],
    },
  },
  {
    id: 'balancer_v3',
    name: 'Balancer V3',
    family: 'balancer_v3',
    // The Vault. Source: balancer/balancer-deployments tasks/20241204-v3-vault.
    factories: {
      eth: ['0xba1333333333a1ba1108e8412f11850a5c319ba9'],
      base: ['0xba1333333333a1ba1108e8412f11850a5c319ba9'],
      arbitrum: ['0xba1333333333a1ba1108e8412f11850a5c319ba9'],
      optimism: ['0xba1333333333a1ba1108e8412f11850a5c319ba9'],
      avalanche: ['0xba1333333333a1ba1108e8412f11850a5c319ba9'],
    },
  },
  {
    id: 'pump_fun',
    name: 'Pump.fun',
    family: 'pump_fun',
    launchpad: true,
    curveTokensRaw: 793_100_000_000_000n,
    factories: { sol: ['6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P'] },
  },
  {
    id: 'pumpswap',
    name: 'PumpSwap',
    family: 'pumpswap',
    factories: { sol: ['pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA'] },
  },
  {
    id: 'raydium_amm_v4',
    name: 'Raydium AMM v4',
    family: 'raydium_amm_v4',
    feePips: 2500,
    factories: { sol: ['675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8'] },
  },
  {
    id: 'meteora_dlmm',
    name: 'Meteora DLMM',
    family: 'meteora_dlmm',
    factories: { sol: ['LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo'] },
  },
  {
    id: 'meteora_damm_v2',
    name: 'Meteora DAMM v2',
    family: 'meteora_damm_v2',
    factories: { sol: ['cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG'] },
  },
  {
    id: 'meteora_dbc',
    name: 'Meteora DBC',
    family: 'meteora_dbc',
    launchpad: true,
    curveKeepsTokens: true,
    factories: { sol: ['dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN'] },
  },
  {
    id: 'meteora_damm_v1',
    name: 'Meteora DAMM v1',
    family: 'meteora_damm_v1',
    factories: { sol: ['Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB'] },
  },
  {
    id: 'moonshot',
    name: 'Moonshot',
    family: 'moonshot',
    launchpad: true,
    curveKeepsTokens: true,
    factories: { sol: ['MoonCVVNZFSYkqNXP6bxHLPL6QQJiMagDL3qcqUQTrG'] },
  },
  {
    id: 'raydium_cpmm',
    name: 'Raydium CPMM',
    family: 'raydium_cpmm',
    factories: { sol: ['CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C'] },
  },
  {
    id: 'raydium_clmm',
    name: 'Raydium CLMM',
    family: 'raydium_clmm',
    factories: { sol: ['CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK'] },
  },
  {
    id: 'raydium_launchlab',
    name: 'Raydium LaunchLab',
    family: 'raydium_launchlab',
    launchpad: true,
    factories: { sol: ['LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj'] },
  },
  {
    id: 'orca_whirlpool',
    name: 'Orca Whirlpool',
    family: 'orca_whirlpool',
    factories: { sol: ['whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc'] },
  },
  {
    id: 'cetus',
    name: 'Cetus',
    family: 'cetus',
    factories: {
      // An upgrade brought the second forms of the liquidity events, which carry its own address.
      sui: [
        '0x1eabed72c53feb3805120a081dc15963c204dc8d091542592abaf7a35689b2fb',
        '0xdb5cd62a06c79695bfc9982eb08534706d3752fe123b48e0144f480209b3117f',
      ],
    },
  },
  {
    id: 'cetus_dlmm',
    name: 'Cetus DLMM',
    family: 'cetus_dlmm',
    factories: {
      sui: ['0x5664f9d3fd82c84023870cfbda8ea84e14c8dd56ce557ad2116e0668581a682b'],
    },
  },
  {
    id: 'turbos',
    name: 'Turbos',
    family: 'turbos',
    factories: {
      sui: ['0x91bfbc386a41afcfd9b2533058d7e915a1d3829089cc268ff4333d54d6339ca1'],
    },
  },
  {
    id: 'momentum',
    name: 'Momentum',
    family: 'momentum',
    factories: {
      sui: ['0x70285592c97965e811e0c6f98dccc3a9c2b4ad854b3594faab9597ada267b860'],
    },
  },
  {
    id: 'bluefin',
    name: 'Bluefin',
    family: 'bluefin',
    factories: {
      sui: ['0x3492c874c1e3b3e2984e8c41b589e642d4d0a5d6459e5a9cfc2d52fd7c89c267'],
    },
  },
  {
    id: 'deepbook',
    name: 'DeepBook',
    family: 'deepbook',
    factories: {
      sui: ['0x2c8d603bc51326b8c13cef9dd07031a408a48dddb541963357661df5d3204809'],
    },
  },
  {
    id: 'aftermath',
    name: 'Aftermath',
    family: 'aftermath',
    factories: {
      sui: [
        '0xefe170ec0be4d762196bedecd7a065816576198a6527c99282a2551aaa7da38c',
        '0xc4049b2d1cc0f6e017fda8260e4377cecd236bd7f56a54fee120816e72e2e0dd',
      ],
    },
  },
  {
    id: 'quickswap_v2',
    name: 'QuickSwap',
    family: 'uniswap_v2',
    feePips: 3000,
    factories: { polygon: ['0x5757371414417b8c6caad45baef941abc7d3ab32'] },
  },
  {
    id: 'lfj_v1',
    name: 'LFJ V1',
    family: 'uniswap_v2',
    feePips: 3000,
    factories: { avalanche: ['0x9ad6c38be94206ca50bb0d90783181662f0cfa10'] },
  },
  {
    id: 'pangolin',
    name: 'Pangolin',
    family: 'uniswap_v2',
    feePips: 3000,
    factories: { avalanche: ['0xefa94de7a4656d787667c749f7e1223d71e9fd88'] },
  },
  {
    id: 'pangolin_v3',
    name: 'Pangolin V3',
    family: 'uniswap_v3',
    // Source: DefiLlama/DefiLlama-Adapters.
    factories: { avalanche: ['0x1128f23d0bc0a8396e9fbc3c0c68f5ea228b8256'] },
  },
  {
    id: 'biswap',
    name: 'Biswap',
    family: 'uniswap_v2',
    factories: { bsc: ['0x858e3312ed3a876947ea49d572a7c42de08af7ee'] },
  },
  {
    id: 'shibaswap',
    name: 'ShibaSwap',
    family: 'uniswap_v2',
    feePips: 3000,
    factories: { eth: ['0x115934131916c8b277dd010ee02de363c09d037c'] },
  },
  {
    id: 'baseswap',
    name: 'BaseSwap',
    family: 'uniswap_v2',
    factories: { base: ['0xfda619b6d20975be80a10332cd39b9a4b0faa8bb'] },
  },
  {
    id: 'alien_base',
    name: 'Alien Base',
    family: 'uniswap_v2',
    factories: { base: ['0x3e84d913803b02a4a7f027165e8ca42c14c0fde7'] },
  },
  {
    id: 'camelot_v2',
    name: 'Camelot V2',
    family: 'uniswap_v2',
    mixedCurves: true,
    factories: { arbitrum: ['0x6eccab422d763ac031210895c81787e87b43a652'] },
  },
  {
    id: 'quickswap_v3',
    name: 'QuickSwap V3',
    family: 'uniswap_v3',
    lookup: 'pool_by_pair',
    factories: { polygon: ['0x411b0facc3489691f28ad58c47006af5e3ab3a28'] },
  },
  {
    id: 'quickswap_v4',
    name: 'QuickSwap V4',
    family: 'uniswap_v3',
    lookup: 'pool_by_pair',
    // That of Polygon: VeloraDEX/paraswap-dex-lib src/dex/algebra-integral/config.ts.
    factories: {
      base: ['0xc5396866754799b9720125b104ae01d935ab9c7b'],
      polygon: ['0x96117a894c2c99aafeeacb972c3310e6ac83e810'],
    },
  },
  {
    id: 'camelot_v3',
    name: 'Camelot V3',
    family: 'uniswap_v3',
    lookup: 'pool_by_pair',
    factories: {
      arbitrum: [
        '0x1a3c9b1d2f0529d97f2afc5136cc23e58f1fd35b',
        '0xd490f2f6990c0291597fd1247651b4e0dcf684dd',
      ],
    },
  },
  {
    id: 'thena_fusion',
    name: 'THENA Fusion',
    family: 'uniswap_v3',
    lookup: 'pool_by_pair',
    factories: { bsc: ['0x306f06c147f064a010530292a1eb6737c3e378e4'] },
  },
  {
    id: 'thena_integral',
    name: 'THENA Integral',
    family: 'uniswap_v3',
    lookup: 'pool_by_pair',
    // Algebra Integral. Sources: DefiLlama/dimension-adapters, DefiLlama-Adapters.
    factories: { bsc: ['0x30055f87716d3dfd0e5198c27024481099fb4a98'] },
  },
  {
    id: 'blackhole_cl',
    name: 'Blackhole CL',
    family: 'uniswap_v3',
    lookup: 'pool_by_pair',
    // Algebra Integral. Source: VeloraDEX/paraswap-dex-lib src/dex/algebra-integral/config.ts.
    factories: { avalanche: ['0x512eb749541b7cf294be882d636218c84a5e9e5f'] },
    // One per tick spacing: 1, 50, 100, 200, as several public repositories name them.
    deployers: [
      '0xdcfccf2e8c4efbba9127b80eac76c5a122125d29',
      '0x58b05074d52d1a84d8ffdadda3c1b652e8c56994',
      '0xf9221de143a0e57c324bf2a0f281e605e845d767',
      '0x5d433a94a4a2aa8f9aa34d8d15692dc2e9960584',
    ],
  },
  {
    id: 'pharaoh_v3',
    name: 'Pharaoh V3',
    family: 'uniswap_v3',
    lookup: 'pool_tick_spacing',
    // Ramses V3. Source: PharaohExchange/pharaoh-contracts.
    factories: { avalanche: ['0xae6e5c62328ade73ceefd42228528b70c8157d0d'] },
  },
  {
    id: 'aerodrome_cl',
    name: 'Aerodrome Slipstream',
    family: 'uniswap_v3',
    lookup: 'pool_tick_spacing',
    factories: {
      base: [
        '0x5e7bb104d84c7cb9b682aac2f3d509f5f406809a',
        '0x9592cd9b267748cbfbde90ac9f7df3c437a6d51b',
        '0xade65c38cd4849adba595a4323a8c7ddfe89716a',
        '0xf8f2eb4940cfe7d13603dddd87f123820fc061ef',
      ],
    },
  },
  {
    id: 'velodrome_cl',
    name: 'Velodrome Slipstream',
    family: 'uniswap_v3',
    lookup: 'pool_tick_spacing',
    // Source: velodrome-finance/slipstream README.md; the last is the factory before it, which indexers of Velodrome still read.
    factories: {
      optimism: [
        '0xcc0bddb707055e04e497ab22a59c2af4391cd12f',
        '0xe13dd1fba721aa81a1826d9523ac9bc7d260c879',
        '0x548118c7e0b865c2cfa94d15ec86b666468ac758',
      ],
    },
  },
  {
    id: 'topaz_cl',
    name: 'Topaz Slipstream',
    family: 'uniswap_v3',
    lookup: 'pool_tick_spacing',
    // Source: topazdex.com/docs, DefiLlama/dimension-adapters.
    factories: { bsc: ['0x73dc984d9490286e735548f61dfccec67af82ed9'] },
  },
  {
    id: 'syncswap_range',
    name: 'SyncSwap Range',
    family: 'uniswap_v3',
    lookup: 'pool_tick_spacing',
    factories: { zksync: ['0x9d63d318143cf14ff05f8aaa7491904a494e6f13'] },
  },
  {
    id: 'pancakeswap_infinity_cl',
    name: 'PancakeSwap Infinity CL',
    family: 'pancake_infinity',
    factories: {
      bsc: ['0xa0ffb9c1ce1fe56963b0321b32e7a0302114058b'],
      base: ['0xa0ffb9c1ce1fe56963b0321b32e7a0302114058b'],
    },
  },
  {
    id: 'pancakeswap_infinity_bin',
    name: 'PancakeSwap Infinity Bin',
    family: 'pancake_infinity',
    factories: {
      bsc: ['0xc697d2898e0d09264376196696c51d7abbbaa4a9'],
      base: ['0xc697d2898e0d09264376196696c51d7abbbaa4a9'],
    },
  },
  {
    id: 'velodrome_v2',
    name: 'Velodrome V2',
    family: 'solidly',
    compatibleFamilies: ['uniswap_v2'],
    lookup: 'pool_stable',
    mixedCurves: true,
    factories: { optimism: ['0xf1046053aa5682b4f9a81b5481394da16be5ff5a'] },
  },
  {
    id: 'aerodrome',
    name: 'Aerodrome',
    family: 'solidly',
    compatibleFamilies: ['uniswap_v2'],
    lookup: 'pool_stable',
    mixedCurves: true,
    factories: { base: ['0x420dd381b31aef6683db6b902084cb0ffece40da'] },
  },
  {
    id: 'velodrome_v1',
    name: 'Velodrome V1',
    family: 'solidly',
    compatibleFamilies: ['uniswap_v2'],
    lookup: 'pair_stable',
    mixedCurves: true,
    factories: { optimism: ['0x25cbddb98b35ab1ff77413456b31ec81a6b6b746'] },
  },
  {
    id: 'thena',
    name: 'THENA',
    family: 'solidly',
    compatibleFamilies: ['uniswap_v2'],
    lookup: 'pair_stable',
    mixedCurves: true,
    factories: { bsc: ['0xafd89d21bdb66d00817d4153e055830b1c2b3970'] },
  },
  {
    id: 'topaz',
    name: 'Topaz',
    family: 'solidly',
    compatibleFamilies: ['uniswap_v2'],
    lookup: 'pool_stable',
    mixedCurves: true,
    factories: { bsc: ['0x65e6cd0ef5d3467030103cf3d433034e570b5784'] },
  },
  {
    id: 'blackhole',
    name: 'Blackhole',
    family: 'solidly',
    compatibleFamilies: ['uniswap_v2'],
    lookup: 'pair_stable',
    mixedCurves: true,
    // Source: DefiLlama/dimension-adapters.
    factories: { avalanche: ['0xfe926062fb99ca5653080d6c14fe945ad68c265c'] },
  },
  {
    id: 'lfj_v2',
    name: 'LFJ V2.0',
    family: 'liquidity_book',
    factories: {
      avalanche: ['0x6e77932a92582f504ff6c4bdbcef7da6c198aeef'],
      arbitrum: ['0x1886d09c9ade0c5db822d85d21678db67b6c2982'],
      bsc: ['0x43646a8e839b2f2766392c1bf8f60f6e587b6960'],
    },
  },
  {
    id: 'lfj_v2_1',
    name: 'LFJ V2.1',
    family: 'liquidity_book',
    bookVersion: 2,
    factories: {
      // Source: npm @traderjoe-xyz/sdk-v2 LB_FACTORY_V21_ADDRESS.
      eth: ['0xdc8d77b69155c7e68a95a4fb0f06a71ff90b943a'],
      avalanche: ['0x8e42f2f4101563bf679975178e880fd87d3efd4e'],
      arbitrum: ['0x8e42f2f4101563bf679975178e880fd87d3efd4e'],
      bsc: ['0x8e42f2f4101563bf679975178e880fd87d3efd4e'],
    },
  },
  {
    id: 'lfj_v2_2',
    name: 'LFJ V2.2',
    family: 'liquidity_book',
    bookVersion: 3,
    factories: {
      avalanche: ['0xb43120c4745967fa9b93e79c149e66b0f2d6fe0c'],
      arbitrum: ['0xb43120c4745967fa9b93e79c149e66b0f2d6fe0c'],
      bsc: ['0xb43120c4745967fa9b93e79c149e66b0f2d6fe0c'],
    },
  },
  {
    id: 'pharaoh_dlmm',
    name: 'Pharaoh DLMM',
    family: 'liquidity_book',
    // Source: DefiLlama/DefiLlama-Adapters.
    factories: { avalanche: ['0xeb480050b016f6c6d45203d2346b68bddda23d4d'] },
  },
  {
    id: 'syncswap',
    name: 'SyncSwap',
    family: 'syncswap',
    compatibleFamilies: ['uniswap_v2', 'solidly'],
    lookup: 'is_pool',
    mixedCurves: true,
    swapsFirst: true,
    // The first master and a later one; pools of both are in use.
    factories: {
      zksync: [
        '0xbb05918e9b4ba9fe2c8384d223f0844867909ffb',
        '0xfdfe03bae6b8113ee1002d2be453fb71ca5783d3',
      ],
    },
  },
  {
    id: 'four_meme',
    name: 'Four.meme',
    family: 'four_meme',
    launchpad: true,
    curveTokensRaw: 800_000_000_000_000_000_000_000_000n,
    factories: {
      bsc: [
        '0x5c952063c7fc8610ffdb798152d69f0b9550762b',
        '0xec4549cadce5da21df6e6422d448034b5233bfbc',
      ],
    },
  },
  {
    id: 'open_four',
    name: 'OpenFour',
    family: 'open_four',
    launchpad: true,
    // Its core, as the registry 0x912cef0c3ae9ab6eb3ec87cab69371cfb317ab94 names it. Source: openfour-docs integration guide.
    factories: { bsc: ['0xebe7b6c1089d9f72ad07f34e36d898e44e5e27f3'] },
  },
  {
    id: 'clanker',
    name: 'Clanker',
    family: 'clanker',
    // Sources: clanker-devco/DOCS references/deployed-contracts.md, clanker-devco/clanker-sdk. On base from version 4 down to 0.
    factories: {
      eth: ['0x6c8599779b03b00aaae63c6378830919abb75473'],
      bsc: ['0xea30438e0b5f99096cb05a8da63be55a6a298f6a'],
      arbitrum: ['0xeb9d2a726edffc887a574dc7f46b3a3638e8e44f'],
      base: [
        '0xe85a59c628f7d27878aceb4bf3b35733630083a9',
        '0x2a787b2362021cc3eea3c24c4748a6cd5b687382',
        '0x375c15db32d28cecdcab5c03ab889bf15cbd2c5e',
        '0x732560fa1d1a76350b1a500155ba978031b53833',
        '0x9b84fce5dcd9a38d2d01d5d72373f6b6b067c3e1',
        '0x250c9fb2b411b48273f69879007803790a6aea47',
      ],
    },
  },
  {
    id: 'virtuals',
    name: 'Virtuals',
    family: 'virtuals',
    launchpad: true,
    // Launchpads from the newest version down, then factories of curves. Sources: Virtual-Protocol/protocol-contracts and its audits'
    // lists of deployments; a contract that only such a list names, and not as a proxy, may be what a proxy runs and is left out.
    factories: {
      base: [
        '0x1a540088125d00dd3990f9da45ca0859af4d3b01',
        '0xa31bd6a0edbc4da307b8fa92bd6cf39e0fae262c',
        '0xacb04ab3a1076f4e38de1bac1e19e1c60ff343aa',
        '0xc3538ddd84619e761b4c03caf2f785f79889958d',
        '0xf66dea7b3e897cd44a5a231c61b6b4423d613259',
        '0x488db0978b34c6fd901760b9024b565c1117c7c8',
        '0xd7d3c85b4f2e9bee1998cd2e98820e647792d284',
        '0x158d7ccaa23dc3c8861c3323ed546e3d25e74309',
      ],
    },
  },
  {
    id: 'polymarket',
    name: 'Polymarket',
    family: 'polymarket',
    factories: {
      polygon: [
        '0xe111180000d2663c0091e4f400237545b87b996b',
        '0xe2222d279d744050d28e00520010520000310f59',
        '0xe3333700ca9d93003f00f0f71f8515005f6c00aa',
        '0x4bfb41d5b3570defd03c39a9a4d8de6bd8b8982e',
        '0xc5d563a36ae78145c45a50134d48a1215220f80a',
        '0xd91e80cf2e7be2e162c6513ced06f1dd0da35296',
        '0x4d97dcd97ec945f40cf65f87097ace5ea0476045',
        '0xe3f18acc55091e2c48d883fc8c8413319d4ab7b0',
        '0xb768891e3130f6df18214ac804d4db76c2c37730',
      ],
    },
  },
  {
    // The contract of this project: deployed by who offers packets, and listed by `CHAIN_EXTRA`.
    id: 'red_packets',
    name: 'Red packets',
    family: 'red_packets',
    factories: {},
  },
  {
    // Source: DimensionDev/RedPacket README.
    id: 'happy_red_packet',
    name: 'HappyRedPacket',
    family: 'happy_red_packet',
    factories: {
      eth: ['0xabbe1101fd8fa5847c452a6d70c8655532b03c33'],
      bsc: ['0x0ca42c178e14c618c81b8438043f27d9d38145f6'],
    },
  },
  {
    // Source: DimensionDev/RedPacket, program `redpacket` for Solana.
    id: 'mask_red_packet',
    name: 'Mask Red Packet',
    family: 'mask_red_packet',
    factories: { sol: ['CXT16oAAbmgpPZsL2sGmfSUNrATk3AsFVU18thTUVNxx'] },
  },
  {
    // Source: the oracle's documentation (go.chainalysis.com/chainalysis-oracle-docs.html) as several public repositories repeat it, one of
    // them with the transaction that made each: safe-global/safe-client-gateway. None is known on ZKsync.
    id: 'chainalysis_oracle',
    name: 'Chainalysis sanctions oracle',
    family: 'sanctions_oracle',
    factories: {
      eth: ['0x40c57923924b5c5c5455c48d93317139addac8fb'],
      bsc: ['0x40c57923924b5c5c5455c48d93317139addac8fb'],
      base: ['0x3a91a31cb3dc49b4db9ce721f50a9d076c8d739b'],
      polygon: ['0x40c57923924b5c5c5455c48d93317139addac8fb'],
      arbitrum: ['0x40c57923924b5c5c5455c48d93317139addac8fb'],
      optimism: ['0x40c57923924b5c5c5455c48d93317139addac8fb'],
      avalanche: ['0x40c57923924b5c5c5455c48d93317139addac8fb'],
    },
  },
  {
    // Tether's own contracts: TetherToken, ArbitrumExtensionV2, UChildUSDT0, USDT0's TetherTokenOFTExtension. Bridged ones have no list.
    id: 'usdt_freezes',
    name: 'Freezes of USDT',
    family: 'issuer_freezes',
    factories: {
      eth: ['0xdac17f958d2ee523a2206206994597c13d831ec7'],
      polygon: ['0xc2132d05d31c914a87c6611c10748aeb04b58e8f'],
      arbitrum: ['0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9'],
      optimism: ['0x01bff41798a0bcf287b996046ca68b395dbc1071'],
      avalanche: ['0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7'],
    },
  },
  {
    // Circle's own contracts. Source: developers.circle.com/stablecoins/usdc-contract-addresses, as several public lists repeat it.
    id: 'usdc_freezes',
    name: 'Freezes of USDC',
    family: 'issuer_freezes',
    factories: {
      eth: ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'],
      base: ['0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'],
      polygon: ['0x3c499c542cef5e3811e1192ce70d8cc03d5c3359'],
      arbitrum: ['0xaf88d065e77c8cc2239327c5edb3a432268e5831'],
      optimism: ['0x0b2c639c533813f4aa9d7837caf62653d097ff85'],
      avalanche: ['0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e'],
      zksync: ['0x1d17cbcf0d6d143135ae902365d2e5e2a16538d4'],
    },
  },
] as const satisfies readonly ProtocolRow[]

const ROW_BY_ID: ReadonlyMap<string, ProtocolRow> = new Map(PROTOCOLS.map((row) => [row.id, row]))

/** Protocols, by id, whose swaps keep the product of the reserves but for a fee. */
export const CONSTANT_PRODUCT: ReadonlySet<string> = new Set(
  [...ROW_BY_ID.values()]
    .filter(({ family, mixedCurves }) => familyRow(family).constantProduct && !mixedCurves)
    .map(({ id }) => id),
)

/** Virtual machines on whose chains a protocol holds red packets. */
export const RED_PACKET_VMS: ReadonlySet<Vm> = new Set(
  Object.values<FamilyRow>(FAMILIES)
    .filter(({ isRedPacket }) => isRedPacket)
    .map(({ vm }) => vm),
)

/** Events of the family are lines of the log. */
export const readsLog = (family: Family): boolean => {
  const row = familyRow(family)
  return row.vm === 'svm' && row.reads === 'log'
}

/** Pools of the family tell their reserves; those of others a square root price. */
export const tellsReserves = (family: Family): boolean => familyRow(family).tellsReserves === true

/** Row of a protocol by its id. */
export const protocolRow = (id: string): ProtocolRow | undefined => ROW_BY_ID.get(id)

/** The design of a family's pools, and its version: 0 where versions are not counted. */
export const poolDesign = (family: Family): { design: PoolDesign; version: number } => {
  const { design, version = 0 } = familyRow(family)
  return { design, version }
}

/** False where a protocol trades nothing: it holds red packets, or keeps a list of addresses. */
export const isVenue = ({ family }: Pick<ProtocolRow, 'family'>): boolean => {
  const { isRedPacket, labels } = familyRow(family)
  return isRedPacket !== true && labels === undefined
}

/** What addresses are labelled with that a protocol's contracts list; undefined where it lists none. */
export const labelCategory = (id: string): FamilyRow['labels'] => {
  const row = ROW_BY_ID.get(id)
  return row && familyRow(row.family).labels
}

/** True where both sides of every pool of the protocol are worth the same: what it holds tells its price. */
export const hasEqualValueSides = ({ family, mixedCurves }: ProtocolRow): boolean =>
  familyRow(family).evenSides === true && mixedCurves !== true
