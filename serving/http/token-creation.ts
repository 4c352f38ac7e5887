import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { ChainParam } from '../../schemas/api/common.ts'
import {
  CreateTokenInput,
  CreateTokenResponse,
  OTHER_LAUNCHPAD_FIELDS,
} from '../../schemas/api/token-creation.ts'
import { chainRow } from '../../schemas/chains.ts'
import {
  parseBuyAmount,
  parseTokenText,
  parseTokenUri,
  requireLaunchpad,
} from '../dex/creation-terms.ts'
import { SYSTEM_PROGRAM } from '../dex/solana-calls.ts'
import type { SolanaReader } from '../dex/solana-node.ts'
import { parseLamports, parseSlippage } from '../dex/swap-terms.ts'
import { buildTokenCreation, type CreationOrder } from '../dex/token-creation.ts'
import { parseChain, parseSolanaKey } from './chain-parameters.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

/** What new tokens work with. */
export interface TokenCreationDeps {
  readonly chains: readonly string[]
  readonly nowMs: () => number
  /** Reads of a chain's nodes, by its internal id; missing where none is configured. */
  readonly solana: ReadonlyMap<string, SolanaReader>
}

/** Percent of slippage where none is asked for. */
const DEFAULT_SLIPPAGE = '5'
/** Decimals of every token of pump.fun. */
const DECIMALS = 6

/** Unsigned transactions of new tokens. */
export const tokenCreationRoutes =
  (deps: TokenCreationDeps): RoutePlugin =>
  async (app) => {
    const takeSlot = createConcurrencyLimit()
    app.post(
      '/dex/:chain/create',
      {
        schema: {
          summary: 'The transaction of a new token on a launchpad, for its creator to sign',
          tags: ['swap'],
          params: Type.Object({ chain: ChainParam }),
          body: CreateTokenInput,
          response: { 200: CreateTokenResponse },
        },
        config: pricedRoute('POST /dex/:chain/create'),
      },
      async ({ params, body, principal }, reply) => {
        const startedMs = deps.nowMs()
        takeSlot(principal, reply)
        const { id, enabled } = parseChain(params.chain, deps.chains)
        if (chainRow(id)?.vm !== 'svm') throw new Fault('NOT_IMPLEMENTED')
        if (!enabled) throw new Fault('CHAIN_NOT_SUPPORTED')
        const order = readCreation(id, body)
        const reader = deps.solana.get(id)
        if (reader === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
        const { transaction, mint, lifetime, bought } = await buildTokenCreation(reader, order)
        return {
          serializedTx: transaction,
          mintAddress: mint,
          recentBlockhash: lifetime.blockhash,
          lastValidBlockHeight: lifetime.lastValidBlockHeight,
          ...(order.buy &&
            bought && {
              buy: {
                inAmount: order.buy.amountInRaw.toString(),
                outAmount: bought.outRaw.toString(),
                minOutAmount: bought.minOutRaw.toString(),
              },
            }),
          elapsedTime: Math.round(deps.nowMs() - startedMs),
        }
      },
    )
  }

/** What a request asks for. Throws the `Fault` of each way in which it is wrong. */
const readCreation = (chainId: string, body: CreateTokenInput): CreationOrder => {
  requireLaunchpad(body.dex)
  const { extra = {} } = body
  const creator = parseSolanaKey(chainId, body.userAddress, 'userAddress')
  if (creator === SYSTEM_PROGRAM) {
    throw new Fault('INVALID_ADDRESS', undefined, { parameter: 'userAddress', value: creator })
  }
  const token = {
    creator,
    name: parseTokenText('name', body.name),
    symbol: parseTokenText('symbol', body.symbol),
    uri: parseTokenUri(body.uri),
    cashback: extra.cashback,
  }
  rejectOtherLaunchpadFields(body)
  const slippageBps = parseSlippage(String(extra.slippage ?? DEFAULT_SLIPPAGE))
  return {
    token,
    priorityFee: parseLamports(body.priorityFee ?? '0'),
    buy:
      extra.buyAmount === undefined
        ? undefined
        : { amountInRaw: parseBuyAmount(extra.buyAmount), slippageBps },
  }
}

/** Ignoring them would make another token than was asked for. */
const rejectOtherLaunchpadFields = ({ image, extra = {} }: CreateTokenInput): void => {
  const refuse = (parameter: string, reason: string): never => {
    throw new Fault('NOT_IMPLEMENTED', undefined, { parameter, reason })
  }
  if (image !== undefined) refuse('image', 'the image is part of the document at uri: leave it out')
  const foreign = OTHER_LAUNCHPAD_FIELDS.find((term) => Object.hasOwn(extra, term))
  if (foreign !== undefined) refuse(`extra.${foreign}`, 'pump.fun does not let it be chosen')
  const { decimals = DECIMALS } = extra
  if (decimals !== DECIMALS) refuse('extra.decimals', 'tokens of pump.fun have 6')
}
