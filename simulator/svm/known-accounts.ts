import { type FixedAccount, fixedAccount } from './accounts.ts'
import { parseAddress } from './addresses.ts'

const at = (address: string, lamports: bigint): FixedAccount =>
  fixedAccount(parseAddress(address), lamports)

/**
 * Programs and accounts of mainnet that every chain of this kind has. Source: the account
 * lists of recorded transactions (`buy_token_pumpfun_1`, `migrate_pumpfun_1`, `swap_pumpswap_1`, `swap_raydium_v4_1`).
 */
export const KNOWN_ACCOUNTS = {
  system: at('11111111111111111111111111111111', 1n),
  vote: at('Vote111111111111111111111111111111111111111', 1n),
  computeBudget: at('ComputeBudget111111111111111111111111111111', 1n),
  rentSysvar: at('SysvarRent111111111111111111111111111111111', 1_009_200n),
  token: at('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 5_598_856_254n),
  token2022: at('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb', 58_623_941n),
  ata: at('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL', 3_387_961_056n),
  metadata: at('metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s', 1_141_440n),
  pump: at('6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P', 8_350_497_283n),
  pumpGlobal: at('4wTV1YmiEkRvAtNtsSGPtUrqRYQMe5SKy2uB4Jjaxnjf', 4_087_496_142n),
  pumpMintAuthority: at('TSLvdd1pWpHVjahSpsvCXUbgwsL3JAcvokwaKt1eokM', 2_996_357n),
  pumpEvents: at('Ce6TQqeHC9p8KetsN6JsjHK7UTZk7nasjjnr7XxXp9F1', 168_261_315n),
  pumpVolume: at('Hq2wp8uJ9jCPsYgNHex8RtqdvMPfVGoYwjvF1ATiwn2Y', 17_015_138n),
  pumpFeeConfig: at('8Wf5TiAheLUqBrKXeYg2JtAFFMWtKdG2BSFgqUcPVwTt', 26_425_733n),
  pumpFees: at('pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ', 4_863_717n),
  mayhem: at('MAyhSmzXzV1pTf7LsNkrNwkWKTo4ougAJ1PPg47MD4e', 11_149_834n),
  mayhemGlobal: at('13ec7XdrjF3h3YcqBTFDSReRcUFwbCnJaAQspM4j6DDJ', 2_547_360n),
  mayhemVault: at('BwWK17cbHxwWBKZkUYvzxLcNQ1YVyaFezduWbtm2de6s', 2_996_357_625_141n),
  amm: at('pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA', 1_168_673_625n),
  ammConfig: at('ADyA8hdefvWN2dbGGWFotbzWxrAvLW83WG6QCVXvJKqw', 8_986_091n),
  ammEvents: at('GS4CU59F31iL7aR2Q8zVS8DRrcRnXX1yjQ66TqNVQnaR', 4_641_090n),
  ammVolume: at('C2aFPdENg4A2HQsmrd5rTw5TaYBX5Ku887cWjbFKtZpw', 28_668_917n),
  ammFeeConfig: at('5PHirr8joyTMp9JMm6nW7hNDVyEYdkzDqazxPD7RaTjx', 22_239_416n),
  raydium: at('675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8', 5_668_616_979n),
  raydiumAuthority: at('5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1', 34_552_057_044n),
  openBook: at('srmqPvymJeFKQ4zGQed1GFppgkRHL9kaELCbyksJtPX', 1_141_440n),
  wsol: at('So11111111111111111111111111111111111111112', 1_488_934_766_853n),
  usdc: at('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', 517_251_819_632n),
} as const

/** Lamports that keep an account of a size alive. Source: the same recordings. */
export const RENT = {
  tokenAccount: 2_039_280n,
  tokenAccount2022: 2_074_080n,
  mint: 1_461_600n,
  mint2022: 3_667_920n,
  curve: 1_231_920n,
  metadata: 15_616_720n,
  pool: 2_596_080n,
} as const
