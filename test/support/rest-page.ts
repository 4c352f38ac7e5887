import {
  ANONYMOUS_REQUESTS_PER_SECOND,
  MILLI_UNITS_PER_UNIT,
  MIN_QUERY_MILLI_UNITS,
  maxConcurrentQueries,
  PLANS,
  type PricedPlan,
  ROUTE_MILLI_UNITS,
} from '../../schemas/plans.ts'
import { BURST_SECONDS } from '../../serving/billing/rate-limiter.ts'
import { chainWords } from './chain-words.ts'

const planRow = ([name, plan]: readonly [string, PricedPlan]): string => {
  const units = plan.unitsPerMonth?.toLocaleString('en-US') ?? 'without end'
  const { requestsPerSecond, webhookEndpoints } = plan
  return `| ${name} | ${requestsPerSecond} | ${units} | ${maxConcurrentQueries(plan)} | ${webhookEndpoints} |\n`
}

const planRows = (): string => Object.entries<PricedPlan>(PLANS).map(planRow).join('')

const HEAD = `# REST

Every operation below answers under \`/v2\` and under \`/v1\`, with the same body. The machine-readable form, with parameters, named schemas, statuses and
examples of a simulated chain, is \`/openapi.json\` of a running installation, and \`/docs\` is a page to read it and to try operations; it loads nothing
from other servers.

## Conventions

- **Credentials**: \`X-API-KEY: <key>\`, or \`Authorization: Bearer <key or access token>\`. Access tokens come from \`POST /oauth/token\`.
  A wallet that \`POST /x402/link-address\` (without a version) has linked signs in with \`Authorization: SIWX <message in base 64>.<signature>\`; it may be a
  [contract on Base](security.md#wallets-and-keys-of-an-account). The first of SIWX, key and Bearer that is there decides.
- **Chains**: ${chainWords()}. A chain of which this
  installation holds no data answers with empty lists; a record of it is 404.
- **Lists**: \`limit\` (1 to 100, default 20), \`cursor\` (the \`nextCursor\` of an answer) and \`direction\` (\`next\`, \`prev\`). \`data\` and \`items\` are the same
  array; \`nextCursor\` is empty and \`hasMore\` false at the end. A cursor names a place in the order of the list: rows that arrive or are taken back by a
  reorg do not shift it. It belongs to one list with its parameters; for another one it is refused with code 40027.
- **Numbers** are decimal text: amounts in token units and money exact, prices and ratios with at most 17 digits. \`...Ratio\` is a fraction. What is not known is
  \`null\`; where clients of the interface require text it is \`""\` for names and \`"0"\` for numbers, and the schema says so.
- **Times** are epoch milliseconds. As parameters, values below 100,000,000,000 are read as seconds.
- **Windows** (\`1h\`, \`24h\`, \`7d\`) end at the newest block that was ingested, not at a wall clock. \`X-Chain-Head\` and \`X-Chain-Since\` of an answer say how far
  the blocks reach; tables of profits, balances and statistics are filled beside them and may be some blocks behind, longer while a start catches up.
- **Errors** are \`application/problem+json\` with \`code\`, \`name\`, \`message\` and \`requestId\`; a wrong parameter is named in \`details.parameter\`. [All codes](errors.md).
- **Tags**: an answer has an \`ETag\`; with \`If-None-Match\` an answer that is still the same is 304 without a body, at the same price. Operations on
  webhooks have none.
- **Price**: compute units (CU) of a successful answer, also in the header \`X-CU-Cost\`. An answer that there is nothing (404) or that the query needs too much (40041) costs what the
  engine did for it, ${MIN_QUERY_MILLI_UNITS / MILLI_UNITS_PER_UNIT} for each second that it began and at most the price; other errors cost nothing.
- **Repeating a POST**: with \`Idempotency-Key\` (8 to 255 printable characters) \`POST /webhook/endpoint\` makes one endpoint: for 24 hours the same key (of the newest 1,000 of an organization) and body get the same answer, with
  \`Idempotent-Replayed: true\`; another body is refused with code 40901. A transaction that is sent twice is one on the chain, and a risk registration of the same reference is one.
- Addresses of EVM chains are compared without regard to case, those of Solana as they are written.

## Limits

Limits belong to an organization, over all its keys and tokens; \`GET /account/plan\` tells where they stand.

| plan | requests per second | CU per month | GraphQL requests at once | webhook endpoints |
| --- | --- | --- | --- | --- |
${planRows()}
- After a pause ${BURST_SECONDS} seconds' worth of requests may come at once. \`X-RateLimit-Limit\` is the rate, \`X-RateLimit-Remaining\` the requests that may come at once now (after a pause more than
  the limit, because of the burst), \`X-RateLimit-Reset\` the Unix second at which it is full again; \`RateLimit\` and \`RateLimit-Policy\` say the same in the form of the IETF draft.
- Too many requests are 429 with code 429 and \`Retry-After\` in seconds, too many GraphQL requests at once 429 with code 42903. Units that are used up are 403 with \`details.reason\`
  \`quota_exhausted\` and \`details.resetAt\`: months are calendar months in UTC, nothing is carried over. \`X-Quota-Remaining\` is what is left, -1 without end.
- Requests without a valid credential: ${ANONYMOUS_REQUESTS_PER_SECOND} a second from one address.
- Several serving processes share limits: each knows of the others' requests and units within about a second.

## What the numbers are

- **Trades** are seen from the token that is asked for, else from the base token of the pair. A trade has one value; both legs carry it. A trade with \`isSuspect\` failed a check of its
  price: it counts in volumes, sets no price and is in no candle. \`isSuspect=false\` asks for the others.
- **Candles**: \`volume\` is money, in USD or with \`priceType=native\` in the native token; \`volumeInTokenAmount\` is tokens.
- **Profit and loss** uses the moving average cost of a wallet and token: a sale takes its share of the cost, and what was never bought realizes nothing. A window
  (\`1d\`, \`7d\`, \`30d\`) counts the trades in it, and its cost is the cost at its start plus the purchases in it. The open part is at most what the wallet still holds.
- **Statistics** of a token: a window has sixty buckets of block time (\`1m\` of one second, \`24h\` of 24 minutes). It holds the bucket of \`updatedAt\` and the 59
  before it; \`prev...\` are the numbers of the 60 before those. \`updatedAt\` is when a window changed last, by a trade or because one left it: the numbers
  of a token that stopped trading fall to zero with the blocks of the chain, \`1m\` every five seconds, the others with their buckets, and
  between two changes they are those of now. All but liquidity follows from the trades that are served; suspect trades count but set no price. A sum in the
  native coin holds the trades whose quote had a known price in it: the first trades after a start may have none.
- **Net worth** counts tokens with a price and a pool of at least 100 USD. Worth in the native token is that in USD at the one price of the native token now,
  or where that is unknown what the token last traded at. Past worth is walked back through changes of balances, at the last price of each hour.
- **Holders**: a pool that keeps tokens under its own address is in the list with the tag \`pool\`. The shares of the ten and hundred largest holders and their concentration leave
  burn addresses out, and pools in which the token is the base.
- **Rankings** look at the first 500 tokens of their order, narrow them, and show at most 100. A number that is not known fits no range.
- **Kinds of traders** come from blocks alone: \`dev\`, \`sniper\` (bought within 10 seconds of the first trade), \`bundle\`, \`sandwich\` and \`pro\`. The kinds that need labels
  or a wallet's whole history (\`fresh\`, \`insider\`, \`kol\`, \`bluechip\`, \`smart\`, \`phishing\`, \`rat\`) answer an empty page.
- **Prediction markets** are those of Polygon, with the feed \`predictions\`. An activity is a trade, as its taker made it, or a settlement; with \`wallet\` it is what that
  wallet did, as taker or as maker. An event is named by its group of questions on the chain (its market id): slugs, questions and pictures of the site are not
  on the chain, so a slug answers an empty page, and what is not known is left out.
- **Positions** in outcome tokens, what they cost and what they bring are described in [feeds](feeds.md#positions-in-prediction-markets). Topics, smart money and names are not on
  the chain: \`tag\` and \`topic\` answer an empty page.
- **Red packets** are those of the listed contracts and programs, with the feed \`red-packets\`; see [red packets](red-packets.md).
- **Nothing to start**: profits and balances of every wallet are kept, so \`calculate-pnl\` and \`watchlist\` begin nothing; they answer for clients that call them first.
- **Pictures** are compared by their addresses in the tokens' documents, not by what they show.
- **Snapshots** of a pool are its last state of each hour and the state after every change of its liquidity; those of a token are hourly.

## Operations

| operation | CU |
| --- | --- |
`

const OPEN_OPERATIONS = `
## Without an account

These have no version and cost no units; see [paying](pay-per-call.md).

- \`GET /x402/pricing\`: plans that a wallet can buy
- \`GET /x402/purchase?plan=\`, also by POST: buys one with a payment
- \`GET /x402/status?chain=&address=\`: the bought plan of a wallet
`

const openapiPath = (route: string): string => route.replace(/:(\w+)/g, '{$1}')

/** The page \`docs/rest.md\`: conventions, and a row per operation with its price. */
export const restPage = (): string =>
  HEAD +
  Object.entries(ROUTE_MILLI_UNITS)
    .map(
      ([name, milliUnits]) =>
        `| \`${openapiPath(name)}\` | ${milliUnits / MILLI_UNITS_PER_UNIT} |\n`,
    )
    .join('') +
  OPEN_OPERATIONS
