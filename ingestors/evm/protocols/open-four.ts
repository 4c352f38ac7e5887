import type { Log } from '../../../schemas/events.ts'
import { textIn } from '../abi/dynamic.ts'
import { addressIn, topicAddress, wordAt } from '../abi/words.ts'
import {
  BAD_ARRAY,
  type DecodedEvent,
  type EvmFamily,
  impossible,
  invalidAmounts,
} from './types.ts'

const defaultProtocol = 'open_four'

const MAX_NAME = 128
const MAX_SYMBOL = 64
/** Of every token of the launchpad. Source: contracts/token/OpenFourToken.sol. */
const DECIMALS = 18

/**
 * A token with its curve, which sells part of the supply; what the curve holds lies in a vault of the token's own. The quote is
 * a token at all times, for the chain's native token the wrapped one.
 */
const create = ({ topics, data }: Log): DecodedEvent => {
  const name = textIn(data, 1, MAX_NAME)
  const symbol = textIn(data, 2, MAX_SYMBOL)
  if (name === undefined || symbol === undefined) return BAD_ARRAY
  const [totalSupplyRaw, tokensRaw] = [wordAt(data, 3), wordAt(data, 4)]
  const token = topicAddress(topics[3])
  return (
    impossible([totalSupplyRaw, tokensRaw]) ?? {
      kind: 'token-created',
      token,
      metadata: { name, symbol, decimals: DECIMALS, totalSupplyRaw },
      dev: topicAddress(topics[2]),
      pool: token,
      vault: addressIn(data, 8),
      quote: addressIn(data, 7),
      opens: { tokensRaw },
    }
  )
}

/** What the curve took and gave: fees come on top of a purchase and off what a seller gets. */
const swap = ({ topics, data }: Log): DecodedEvent => {
  const side = wordAt(data, 0)
  if (side > 1n) return { kind: 'invalid', reason: 'unknown-side' }
  const buys = side === 1n
  const token = topicAddress(topics[1])
  const quote = addressIn(data, 1)
  const [tokenRaw, quoteRaw] = [wordAt(data, 4), wordAt(data, 5)]
  const [amountInRaw, amountOutRaw] = buys ? [quoteRaw, tokenRaw] : [tokenRaw, quoteRaw]
  const [raisedRaw, leftRaw] = [wordAt(data, 13), wordAt(data, 14)]
  return (
    invalidAmounts(amountInRaw, amountOutRaw) ?? {
      kind: 'swap',
      pool: token,
      vault: addressIn(data, 2),
      defaultProtocol,
      trader: topicAddress(topics[2]),
      tokenIn: buys ? quote : token,
      tokenOut: buys ? token : quote,
      amountInRaw,
      amountOutRaw,
      reservesInOut: buys ? [raisedRaw, leftRaw] : [leftRaw, raisedRaw],
    }
  )
}

/** The pool is one that the transaction fills: what the event says of it depends on the module that moved the token. */
const migrate = ({ topics }: Log): DecodedEvent => {
  const token = topicAddress(topics[3])
  return { kind: 'migration', token, pooled: token, curve: token, certain: true }
}

/**
 * OpenFour, the later launchpad of four.meme: one contract speaks for all curves, which are made of modules. A curve is named by
 * its token. Source: four-meme-community/openfour-docs contracts/interfaces/IOpenFourCore.sol, docs/integration-guide.md.
 */
export const openFour: EvmFamily = {
  family: 'open_four',
  events: {
    '0x7dae4dcd1b20eb0445e7cc1d02b3e2e7f32fa63081a0e764732c269f2b8f228f': {
      signature:
        'TokenCreated(uint256 requestId, uint256 indexed presetId, address indexed creator, address indexed token, string name, string symbol, uint256 maxSupply, uint256 saleAmount, uint256 raiseAmount, uint256 initialPrice, address quoteAsset, address vault, address curveModule, address tradeModule, address migrateModule, address customData, address tokenModule, string tokenMetaUri, uint256 flags, bytes encodedTags)',
      by: 'singleton',
      topics: 4,
      words: 17,
      read: create,
    },
    '0x8728ba77a8dc0cbf185f23fe65b61fc658a37975e027062c3114394222a10f3f': {
      signature:
        'TradeExecuted(address indexed token, address indexed trader, uint256 indexed presetId, bool isBuy, address quoteAsset, address vault, uint256 requestedTokenAmount, uint256 tokenAmount, uint256 curveQuoteAmount, uint256 traderQuoteAmount, uint256 lastPrice, uint256 slippageLimit, uint256 protocolFee, uint256 taxFee, uint256 devFee, uint256 antiSniperFee, uint256 totalRaised, uint256 remainingForSale)',
      by: 'singleton',
      topics: 4,
      words: 15,
      read: swap,
    },
    '0x147a4684ffc452d571b9faa729585d977e7c7caf3f0eb09bcc430ca605e0f8ff': {
      signature:
        'MigrateExecuted(uint256 indexed presetId, address indexed caller, address indexed token, address vault, address migrateModule, bytes8 migrateTagId, uint256 totalRaised, uint256 remainingForSale, bytes32 hookDataHash, uint8 migratedDataVersion, bytes encodedMigratedData)',
      by: 'singleton',
      topics: 4,
      words: 8,
      read: migrate,
    },
  },
}
