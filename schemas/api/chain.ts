import { type Static, Type } from 'typebox'
import { makePage, namedObject, nullable, PAGE_QUERY } from './common.ts'

/** A chain of this installation. */
export const Blockchain = namedObject('Blockchain', {
  name: Type.String(),
  symbol: Type.String({ description: 'Of the native token' }),
  chainId: Type.Integer({ description: 'EIP-155 id; 0 where the chain has none' }),
  explorerUrl: Type.String(),
})
export type Blockchain = Static<typeof Blockchain>

/** The newest block that was ingested. */
export const BlockchainLatestBlock = namedObject('BlockchainLatestBlock', {
  blockhash: Type.String(),
  lastValidBlockHeight: Type.Integer({
    description:
      'Solana: last height at which a transaction with this hash counts; elsewhere the height',
  }),
})
export type BlockchainLatestBlock = Static<typeof BlockchainLatestBlock>

/** What a transaction pays per gas to be taken soon. */
export const GasPrice = namedObject('GasPrice', {
  gasPrice: Type.String({
    pattern: '^0x(0|[1-9a-f][0-9a-f]*)$',
    description: 'Wei per gas, hexadecimal',
  }),
  chain: Type.String(),
})
export type GasPrice = Static<typeof GasPrice>

/** Bytes of a transaction's data: as many as go-ethereum takes ("txMaxSize"). */
const MAX_DATA_BYTES = 131_072

/** Body of POST `/transaction/{chain}/estimate-gas-limit`. */
export const GasLimitQuestion = Type.Object(
  {
    from: Type.String({ maxLength: 128, description: 'Address of the sender' }),
    to: Type.String({ maxLength: 128, description: 'Address of the receiver or contract' }),
    data: Type.String({
      maxLength: 2 + 2 * MAX_DATA_BYTES,
      pattern: '^0x([0-9a-fA-F]{2})*$',
      description: 'Call data, hexadecimal; 0x = none',
    }),
    value: Type.Optional(
      Type.String({
        maxLength: 66,
        pattern: '^0x[0-9a-fA-F]+$',
        description: 'Wei that are sent along, hexadecimal; default 0x0',
      }),
    ),
  },
  { title: 'GasLimitQuestion', additionalProperties: false },
)

/** Answer of POST `/transaction/{chain}/estimate-gas-limit`. */
export const GasLimit = namedObject('GasLimit', {
  gasLimit: Type.String({
    pattern: '^0x(0|[1-9a-f][0-9a-f]*)$',
    description: 'Gas, hexadecimal',
  }),
  chain: Type.String(),
})

/** A DEX or launchpad that is decoded. */
export const Dex = namedObject('Dex', {
  chain: Type.String(),
  programAddress: nullable(Type.String({ description: 'Program, factory or package' })),
  protocolFamily: nullable(
    Type.String({ description: 'One of a closed list of stock clients, else null' }),
  ),
  protocolName: nullable(Type.String()),
  image: nullable(Type.String()),
})
export type Dex = Static<typeof Dex>

/** Parameters of the list of DEXes. */
export const DexQuery = Type.Object({
  ...PAGE_QUERY,
  chains: Type.Optional(
    Type.Array(Type.String({ maxLength: 512 }), {
      maxItems: 64,
      description: 'Repeated, or separated by commas; default: every chain of this installation',
    }),
  ),
  dexProgram: Type.Optional(Type.String({ maxLength: 256, description: 'One program or factory' })),
})
export type DexQuery = Static<typeof DexQuery>

/** One page of DEXes. */
export const DexPage = makePage(Dex)
