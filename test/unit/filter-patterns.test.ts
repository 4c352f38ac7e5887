import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { RE2JS } from 're2js'
import { channelRow } from '../../schemas/channels.ts'
import { InvalidExpression } from '../../serving/cel/expression.ts'
import { createPatternCompiler } from '../../serving/cel/patterns.ts'
import { createFilterCompiler } from '../../serving/realtime/publication-filter.ts'

/** Compiles each of the sources; those that were refused, and those that were given to the engine. */
const compileAll = (t: TestContext, sources: readonly string[]) => {
  const patterns = createPatternCompiler()
  const { mock } = t.mock.method(RE2JS, 'compile')
  const refused = sources.filter((source) => {
    try {
      patterns(source, 0)
      return false
    } catch (error) {
      assert.ok(error instanceof InvalidExpression, String(error))
      return true
    }
  })
  const compiled = mock.calls.map(({ arguments: [source] }) => source)
  mock.restore()
  return { refused, compiled }
}

test('patterns that would take long to compile are refused without being compiled', (t) => {
  const sources = [
    '([^ab]{31}){32}([^ac]{31}){32}([^ab]{31}){32}([^ad]{31}){32}',
    '(((.{99}){10})*)*(((.{99}){10})*)*(((.{99}){10})*)*',
    '((([^a]{0,9}){0,9}){0,9}){0,9}',
    '(?:(?:(?:a{9})?){9}){9}',
    '[^ab]{999}',
    '[^ab]{1,999}',
    '[^ab]{1000000000000000000000}',
    '[^ab]{999,}',
    '\\\\x{999}',
    '(?i)[B-\u{1e942}]',
    '(?i:[\\x42-\\x{1e942}])',
    '(?si)[^\\x42-\\x{1e942}]',
    '\\p{L}',
    '\\PL',
  ]
  assert.deepEqual(compileAll(t, sources), { refused: sources, compiled: [] })
})

test('of a filter with too many patterns none is compiled', (t) => {
  const { mock } = t.mock.method(RE2JS, 'compile')
  const filterOf = (count: number) =>
    createFilterCompiler().compile(
      channelRow('dex-candle'),
      Array.from({ length: count }, (_, at) => `meta.r.matches("a${at}")`).join(' || '),
    )
  assert.equal(filterOf(40), undefined)
  assert.equal(mock.callCount(), 0)
  assert.ok(filterOf(2))
  assert.equal(mock.callCount(), 2)
  mock.restore()
})

test('patterns of usual length are taken, with counted repetitions, too', (t) => {
  const sources = [
    '(?i)dog',
    '^0x[0-9a-fA-F]{40}$',
    '^[1-9A-HJ-NP-Za-km-z]{32,44}$',
    '^0x([0-9a-f]{2}){20}$',
    '[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}',
    '(?i)[a-z]+[^a-z]',
    '[\u{4e00}-\u{9fff}]+',
    '[\\x{3040}-\\x{9fff}]',
    '\\)[)]{2}[{]{1,2}\\{{1,}',
    'a{,5}',
  ]
  assert.deepEqual(compileAll(t, sources), { refused: [], compiled: sources })
})

test('a pattern is compiled once, whether or not it is refused', (t) => {
  const refused = ['(', '(a|b|c){70}', 'a**']
  const sources = ['ab+', ...refused]
  const { refused: found, compiled } = compileAll(t, [...sources, ...sources])
  assert.deepEqual(found, [...refused, ...refused])
  assert.deepEqual(compiled, sources)
})

test('no pattern that is compiled has a program of more than a thousand instructions', (t) => {
  const atoms = ['a', '.', '\\)', '[(){}]', '(a)', '(?:b|)', '(a*)', '\\b', '()', '(|)', '\\Q)\\E']
  const counts = ['{3}', '{0,9}', '{2,}', '{7}?', '*', '{1,2}', '{0,20}', '{0,499}', '{31}']
  const inner = atoms.flatMap((atom) => counts.map((count) => `${atom}${count}`))
  const nested = inner.flatMap((one) => counts.map((count) => `(${one}x)${count}`))
  const twice = nested.flatMap((one) => [`(${one}|(${one})){8}`, `(?:${one}){0,3}`])
  const { refused, compiled } = compileAll(t, [...inner, ...nested, ...twice])
  assert.ok(refused.length > 100 && compiled.length > 100)
  assert.deepEqual(
    compiled.filter((source) => programSize(source) > 1_000),
    [],
  )
})

/** 0 for text that is not a pattern. */
const programSize = (source: string): number => {
  try {
    return RE2JS.compile(source).programSize()
  } catch {
    return 0
  }
}
