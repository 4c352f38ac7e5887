import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChannel } from '../../serving/realtime/channel-name.ts'
import { JSON_FRAMES } from '../../serving/realtime/json-frames.ts'
import {
  errorReply,
  MAX_COMMANDS,
  PROTOCOL_ERRORS,
  resultReply,
} from '../../serving/realtime/protocol.ts'

const { formatReply, formatPush } = JSON_FRAMES
const parseMessage = (text: string) => JSON_FRAMES.parse(Buffer.from(text))

const A = '0x00000000000000000000000000000000000000aA'
const B = '0x00000000000000000000000000000000000000bB'
const CHAINS = new Set(['eth', 'sui'])

test('a message is parsed line by line; a trailing newline is not a line', () => {
  const cases: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['{}', ['pong']],
    ['{"ping":{}}', ['pong']],
    ['{"method":"ping"}', ['legacy-ping']],
    ['{"send":{"data":1}}', ['send']],
    ['{"id":0,"connect":{}}', ['pong']],
    [
      '{"id":1,"connect":{"token":"x"}}\n{"subscribe":{"channel":"c"},"id":2}\n',
      ['connect', 'subscribe'],
    ],
    ['{"id":1,"subscribe":{},"connect":{}}', ['connect']],
    ['{"id":1,"refresh":null}', ['refresh']],
    ['{"id":4294967295,"ping":{}}', ['ping']],
    ['{"id":4294967296,"ping":{}}', undefined],
    ['{"id":1.5,"ping":{}}', undefined],
    ['{"id":1}', undefined],
    ['{"id":1,"subscribe":[]}', undefined],
    ['', undefined],
    ['\n', undefined],
    ['{}\n\n{}', undefined],
    ['null', undefined],
    ['{"id":1,"ping":{}', undefined],
  ]
  for (const [text, expected] of cases) {
    const found = parseMessage(text)?.map((one) => (one.kind === 'call' ? one.method : one.kind))
    assert.deepEqual(found, expected, text)
  }
})

test('frames are written in the format of stock clients', () => {
  assert.equal(formatReply(resultReply(3, 'unsubscribe')), '{"id":3,"unsubscribe":{}}')
  assert.equal(
    formatReply(errorReply(8, PROTOCOL_ERRORS.internal)),
    '{"id":8,"error":{"code":100,"message":"internal server error","temporary":true}}',
  )
  assert.equal(
    formatPush('a"b', { data: '{"t":1}', offset: 0, kind: 'value' }),
    '{"push":{"channel":"a\\"b","pub":{"data":{"t":1}}}}',
  )
  assert.equal(
    formatPush('c', { data: '{"t":1}', offset: 4_097, kind: 'whole' }),
    '{"push":{"channel":"c","pub":{"data":"{\\"t\\":1}","offset":4097}}}',
  )
  assert.equal(
    formatPush('c', { data: '3C\nt@0,1:2;', offset: 0, kind: 'patch' }),
    '{"push":{"channel":"c","pub":{"data":"3C\\nt@0,1:2;","delta":true}}}',
  )
  const kept = { data: '{}', offset: 4_097, kind: 'value' } as const
  assert.equal(
    formatReply(resultReply(4, 'subscribe', { recovered: true }, [kept])),
    '{"id":4,"subscribe":{"recovered":true,"publications":[{"data":{},"offset":4097}]}}',
  )
  assert.equal(
    formatReply(resultReply(4, 'history', {}, [])),
    '{"id":4,"history":{"publications":[]}}',
  )
})

test('channel names are parsed, and invalid ones get their error code', () => {
  const cases: readonly (readonly [string, string | number])[] = [
    [`dex-candle:eth_${A}_1m`, `dex-candle|eth|${A.toLowerCase()}|1m`],
    [`dex-token-candles:ethereum_${A}_1M`, `dex-candle|eth|${A.toLowerCase()}|1M`],
    [
      `dex-pool-candle-in-native:eth_${A}_1w`,
      `dex-pool-candle-in-native|eth|${A.toLowerCase()}|1w`,
    ],
    [
      `dex-pair-candle:eth_${B}-${A}_1s`,
      `dex-pair-candle|eth|${A.toLowerCase()}-${B.toLowerCase()}|1s`,
    ],
    [`dex-token-trade:eth_${A}`, `dex-trade|eth|${A.toLowerCase()}|`],
    [`wallet-trade:eth_${A}`, `dex-wallet-trade|eth|${A.toLowerCase()}|`],
    ['dex-trade:sui_0x2::my_coin::MY_COIN', 'dex-trade|sui|0x2::my_coin::MY_COIN|'],
    ['dex-candle:sui_0x02::my_coin::MY_COIN_5m', 'dex-candle|sui|0x2::my_coin::MY_COIN|5m'],
    [
      'dex-trade:sui_0x3::lp_pool::LP<0x2::sui::SUI,0x5::a_b::C>',
      'dex-trade|sui|0x3::lp_pool::LP<0x2::sui::SUI, 0x5::a_b::C>|',
    ],
    ['dex-new-tokens:eth', 'dex-new-tokens|eth||'],
    ['dex-new-tokens:eth_', 107],
    [`dex-new-tokens:eth_${A}`, 107],
    ['dex-trade:sui_ab', 107],
    ['dex-trade:sui_0x2::my_coin', 107],
    ['dex-ranking-list:eth_new', 'dex-ranking-list|eth|new|'],
    ['dex-ranking-list:eth_us_stocks', 'dex-ranking-list|eth|stocks|'],
    [
      'dex-ranking-list:eth_graduated_meteora_dynamic_bounding_curve',
      'dex-ranking-list|eth|graduated_meteora_dynamic_bounding_curve|',
    ],
    [
      'dex-ranking-token-list:eth_us_stocks_pump_fun',
      'dex-ranking-token-list|eth|stocks_pump_fun|',
    ],
    ['dex-ranking-list:eth_newest', 107],
    ['dex-ranking-list:eth_new_uniswap', 107],
    ['dex-ranking-list:eth_pump_fun', 107],
    ['dex-ranking-list:eth_', 107],
    ['dex-ranking-list:eth', 107],
    ['dex-ranking-list:eth_toString', 107],
    [
      'dex-ranking-token-general_stat_num-list:eth_us_stocks',
      'dex-ranking-token-general_stat_num-list|eth|stocks|',
    ],
    ['dex-ranking-token-stats:eth_new', 'dex-ranking-token-stats-list|eth|new|'],
    ['dex-ranking-token-stats-list:eth_new_pump_fun', 107],
    [
      'dex-ranking-token-bounding-curve-list:eth_new',
      'dex-ranking-token-bounding-curve-list|eth|new|',
    ],
    ['dex-ranking-token-bounding-curve-list:eth_trending', 107],
    [`dex-wallet-pnl-list:eth_${A}`, `dex-wallet-pnl-list|eth|${A.toLowerCase()}|`],
    [`pred:tok:${'7'.repeat(78)}:act`, `pred:tok||${'7'.repeat(78)}|`],
    ['pred:evt:who-wins-2026:act', 'pred:evt||who-wins-2026|'],
    [`pred:evt:0x${'Ab'.repeat(32)}:act`, `pred:evt||0x${'ab'.repeat(32)}|`],
    [`pred:tok:${'7'.repeat(79)}:act`, 107],
    ['pred:tok:0x12:act', 107],
    ['pred:tok:12', 107],
    ['pred:evt::act', 107],
    ['pred:evt:a:b:act', 107],
    ['pred:mkt:12:act', 102],
    ['pred', 102],
    [`nope:eth_${A}`, 102],
    ['', 102],
    ['toString:eth_x', 102],
    [`DEX-TRADE:eth_${A}`, 102],
    ['dex-trade', 107],
    ['dex-trade:', 107],
    [`dex-trade:ETH_${A}`, 107],
    [`dex-trade:constructor_${A}`, 107],
    [`dex-trade:sol_${A}`, 107],
    [`dex-trade:eth_${A}_1m`, 107],
    [`dex-trade:eth_${A} `, 107],
    ['dex-trade:eth_0x12', 107],
    [`dex-candle:eth_${A}`, 107],
    [`dex-candle:eth_${A}_7m`, 107],
    [`dex-pair-candle:eth_${A}_1m`, 107],
    [`dex-pair-candle:eth_${A}-${A.toLowerCase()}_1m`, 107],
    [`dex-pair-candle:eth_${A}-${B}-${B}_1m`, 107],
    [`dex-trade:eth_${'a'.repeat(256)}`, 107],
  ]
  for (const [name, expected] of cases) {
    const found = parseChannel(name, CHAINS)
    assert.equal('code' in found ? found.code : found.subject, expected, name)
    if (!('code' in found)) assert.equal(found.literal, name)
  }
})

test('at most as many commands of a message are parsed as can be answered', () => {
  assert.equal(parseMessage('{}\n'.repeat(30_000))?.length, MAX_COMMANDS)
  assert.equal(parseMessage('{}\n'.repeat(MAX_COMMANDS))?.length, MAX_COMMANDS)
  assert.equal(parseMessage('{}\n'.repeat(7))?.length, 7)
})
