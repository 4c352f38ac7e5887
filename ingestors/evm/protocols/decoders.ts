// Written by `npm run generate` from the files of this folder that export a `EvmFamily`.
import type { FamilyOf } from '../../../schemas/protocols.ts'
import { balancerV2 } from './balancer-v2.ts'
import { balancerV3 } from './balancer-v3.ts'
import { clanker } from './clanker.ts'
import { curve } from './curve.ts'
import { erc20 } from './erc20.ts'
import { erc4337 } from './erc4337.ts'
import { fourMeme } from './four-meme.ts'
import { happyRedPacket } from './happy-red-packet.ts'
import { issuerFreezes } from './issuer-freezes.ts'
import { liquidityBook } from './liquidity-book.ts'
import { openFour } from './open-four.ts'
import { pancakeInfinity } from './pancake-infinity.ts'
import { polymarket } from './polymarket.ts'
import { redPackets } from './red-packets.ts'
import { sanctionsOracle } from './sanctions-oracle.ts'
import { solidly } from './solidly.ts'
import { syncswap } from './syncswap.ts'
import type { EvmFamily } from './types.ts'
import { uniswapV2 } from './uniswap-v2.ts'
import { uniswapV3 } from './uniswap-v3.ts'
import { uniswapV4 } from './uniswap-v4.ts'
import { virtuals } from './virtuals.ts'

/** The decoder of every family of this virtual machine. */
export const DECODERS: Readonly<Record<FamilyOf<'evm'> | 'erc20' | 'erc4337', EvmFamily>> = {
  balancer_v2: balancerV2,
  balancer_v3: balancerV3,
  clanker,
  curve,
  erc20,
  erc4337,
  four_meme: fourMeme,
  happy_red_packet: happyRedPacket,
  issuer_freezes: issuerFreezes,
  liquidity_book: liquidityBook,
  open_four: openFour,
  pancake_infinity: pancakeInfinity,
  polymarket,
  red_packets: redPackets,
  sanctions_oracle: sanctionsOracle,
  solidly,
  syncswap,
  uniswap_v2: uniswapV2,
  uniswap_v3: uniswapV3,
  uniswap_v4: uniswapV4,
  virtuals,
}
