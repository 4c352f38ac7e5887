import { readFile, stat } from 'node:fs/promises'
import { formatRatio, formatUnits } from '../../core/amounts.ts'
import { unknownChainText } from '../../core/config/unknown-chain.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { DecodeContext } from '../../ingestors/decode/contract.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { recordedFile } from '../../ingestors/recorded/files.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAIN_ID_BY_NAME, chainRow } from '../../schemas/chains.ts'
import type { Block, DecodedBlock, EventPosition } from '../../schemas/events.ts'
import type { Prediction, PredictionTrade } from '../../schemas/prediction-events.ts'

/** Largest file that is read. */
const MAX_FILE_BYTES = 256 * 1024 * 1024

/** What to explain, and where the lines go. */
export interface DecodeRequest {
  /** Any word for a chain: `ethereum`, `eth`. */
  readonly chain: string
  readonly files: readonly string[]
  readonly write: (line: string) => void
}

/**
 * Explains recorded transactions and blocks, one JSON line per file, without a node: amounts are base units, `at` is the
 * log index, on Solana the path of the instruction, on Sui the index of the event. A file that cannot be read becomes `{file, error: {reason, message}}` and the others continue. Returns the exit code.
 * Throws `InvalidInput` for a chain that this build does not decode.
 */
export const decodeFiles = async ({
  chain: word,
  files,
  write,
}: DecodeRequest): Promise<number> => {
  const chain = chainRow(CHAIN_ID_BY_NAME[word] ?? '')?.id
  if (chain === undefined) {
    throw new InvalidInput('unknown-chain', unknownChainText(word))
  }
  const books: DecodeContext = {
    verification: 'evidence',
    protocols: protocolRegistry(chain),
    pool: () => undefined,
  }
  let code = 0
  for (const file of files) {
    const line = await explainFile(chain, file, books).catch((error: unknown) => {
      code = 1
      return { file, error: errorBody(error) }
    })
    write(JSON.stringify(line))
  }
  return code
}

const explainFile = async (chain: string, file: string, books: DecodeContext): Promise<object> => {
  const { size } = await stat(file)
  if (size > MAX_FILE_BYTES)
    throw new InvalidInput(
      'too-big',
      `the file has ${size} bytes; expected at most ${MAX_FILE_BYTES}. Split it into smaller recordings`,
    )
  const { block } = await recordedFile(chain, file, await readFile(file))
  return { file, ...blockLine(block, decodeBlock(block, books)) }
}

const blockLine = (
  block: Block,
  { swaps, transfers, tokenCreations: creations, migrations, predictions }: DecodedBlock,
): object => {
  const hashes = new Map<number, string>()
  for (const { index, hash } of block.transactions) hashes.set(index, hash)
  const nativeAddress = chainRow(block.chain)?.nativeAddress
  const moved = transfers.filter(({ wrap }) => !wrap)
  return {
    trades: swaps.map((swap) => ({
      txHash: hashes.get(swap.txIndex),
      at: positionOf(swap),
      protocol: swap.protocol,
      pool: swap.pool,
      trader: swap.trader,
      tokenIn: swap.tokenIn,
      amountIn: swap.amountInRaw.toString(),
      tokenOut: swap.tokenOut,
      amountOut: swap.amountOutRaw.toString(),
    })),
    transfers: moved.flatMap(({ token, from, to, amountRaw, ...spot }) =>
      token === nativeAddress
        ? []
        : [{ at: positionOf(spot), token, from, to, amount: amountRaw.toString() }],
    ),
    nativeTransfers: moved.flatMap(({ token, from, to, amountRaw, ...spot }) =>
      token === nativeAddress
        ? [{ at: positionOf(spot), from, to, value: amountRaw.toString() }]
        : [],
    ),
    tokensCreated: creations.map(({ metadata, dev, launch }) => ({
      token: metadata.address,
      creator: dev,
      name: metadata.name,
      symbol: metadata.symbol,
      launchpad: launch?.protocol ?? null,
    })),
    tokensMigrated: migrations.map(({ token, to }) => ({ token, pool: to?.pool ?? null })),
    ...(predictions.length > 0 && {
      predictionTrades: predictions
        .filter((each) => each.kind === 'prediction-trade')
        .map((trade) => ({ txHash: hashes.get(trade.txIndex), ...predictionLine(trade) })),
      predictionEvents: predictions
        .filter((each) => each.kind !== 'prediction-trade')
        .map((event) => ({ txHash: hashes.get(event.txIndex), ...predictionEventLine(event) })),
    }),
  }
}

/** Decimals of collateral and of outcome tokens, and of the price between them. */
const PREDICTION_DECIMALS = 6

const predictionLine = (trade: PredictionTrade): object => ({
  at: positionOf(trade),
  protocol: trade.protocol,
  exchange: trade.exchange,
  side: trade.side,
  maker: trade.maker,
  taker: trade.taker,
  tokenId: trade.tokenId.toString(),
  shares: formatUnits(trade.sharesRaw, PREDICTION_DECIMALS),
  price: formatRatio(trade.collateralRaw, trade.sharesRaw, PREDICTION_DECIMALS),
  collateralToken: trade.collateral,
  collateral: trade.collateralRaw.toString(),
  fee: trade.feeRaw.toString(),
  feeIn: trade.feeIn,
})

type PredictionEvent = Exclude<Prediction, PredictionTrade>

const predictionEventLine = (event: PredictionEvent): object => {
  const { type, protocol, conditionId, marketId } = event
  const line = { at: positionOf(event), type, protocol, conditionId, marketId }
  if (event.kind === 'prediction-management') {
    const { questionId, oracle, outcomes, payouts, tokenIds, description } = event
    const texts = { payouts: payouts.map(String), tokenIds: tokenIds.map(String) }
    return { ...line, questionId, oracle, outcomes, ...texts, description }
  }
  const { holder, collateral, amountRaw, indexSets, moved } = event
  return {
    ...line,
    holder,
    collateralToken: collateral,
    amount: amountRaw.toString(),
    indexSets: indexSets.map(String),
    moved: moved.map((each) => ({
      tokenId: each.tokenId.toString(),
      amount: each.amountRaw.toString(),
    })),
  }
}

/** Log or event index, or on Solana the path of the instruction: `2`, `2.4`. */
const positionOf = ({ logIndex, path }: EventPosition): number | string =>
  path === undefined
    ? logIndex
    : path.inner === null
      ? `${path.outer}`
      : `${path.outer}.${path.inner}`

const errorBody = (error: unknown): { readonly reason: string; readonly message: string } => {
  if (error instanceof InvalidInput) return { reason: error.reason, message: error.message }
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    return { reason: error.code, message: error.message }
  }
  throw error
}
