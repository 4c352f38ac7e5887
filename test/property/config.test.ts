/** A setting of any wrong form is a mistake in words, never another error, and never a value that was not meant. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { ConfigError, type ConfigProblem } from '../../core/config/errors.ts'
import { type ConfigOverrides, loadConfig } from '../../core/config/load.ts'
import { documentedVariableOf, SETTINGS, type Setting } from '../../core/config/settings.ts'

const SETTING_ENTRIES = Object.entries(SETTINGS)
const variableOf = (key: string, setting: Setting): string =>
  setting.prefix === undefined ? documentedVariableOf(key, setting) : `${setting.prefix}ETH`

/** The mistakes of a configuration; none where it is a good one. */
const problemsOf = (
  environment: Readonly<Record<string, string>>,
  overrides: ConfigOverrides = {},
): readonly ConfigProblem[] => {
  try {
    loadConfig(environment, overrides)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    assert.ok(error.problems.length > 0)
    return error.problems
  }
}

const entry = fc.constantFrom(...SETTING_ENTRIES)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.json({ maxDepth: 3 }),
  fc.constantFrom(
    '',
    ' ',
    '-1',
    '1e3',
    '0x10',
    'NaN',
    'Infinity',
    '9007199254740993',
    '1.5',
    'true',
    'null',
  ),
)

test('any text in any variable is a valid setting or a readable error', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(entry, text), { minLength: 1, maxLength: 3 }), (given) => {
      const environment = Object.fromEntries(
        given.map(([[key, setting], value]) => [variableOf(key, setting), value]),
      )
      for (const { variable, message } of problemsOf(environment)) {
        assert.match(variable, /^[A-Z][A-Z0-9_]*(<CHAIN>)?$/)
        assert.ok(message.length > 3 && message.length < 1_000, message)
      }
    }),
    { numRuns: 500 },
  )
})

test('any value on the command line is a valid setting or a readable error', () => {
  fc.assert(
    fc.property(entry, fc.jsonValue({ maxDepth: 3 }), ([key], value) => {
      problemsOf({}, { [key]: value })
    }),
    { numRuns: 500 },
  )
})

/** Texts that a setting of a form cannot have. */
const wrongTexts = ({ type, prefix }: Setting & { readonly enum?: unknown }): readonly string[] => {
  if (type === 'integer') return ['many', '1e3', '0x10', ' ', '-9', '1.5', '999999999999999']
  if (type === 'number') return ['many', '1e3', 'NaN', '-9']
  if (type === 'boolean') return ['yes', '1', 'TRUE']
  return type === 'object' && prefix === undefined ? ['[1]', '"x"', '7', '{"__no":{"a":[]}}'] : []
}

/** How a message may say what was found: as text, or as the value that the text is read as. */
const shown = (wrong: string): readonly string[] => [
  `not ${JSON.stringify(wrong)}`,
  `not ${wrong}`,
  ...(wrong.startsWith('[') ? [`not ${inspect(JSON.parse(wrong))}`] : []),
]

test('each error about a number, switch or object setting states the problem, the expected value and the default', () => {
  const tested = SETTING_ENTRIES.flatMap(([key, setting]) =>
    wrongTexts(setting).map((wrong) => ({ key, setting, wrong })),
  )
  assert.ok(tested.length > 100)
  for (const { key, setting, wrong } of tested) {
    const variable = documentedVariableOf(key, setting)
    const problem = problemsOf({ [variable]: wrong }).find((one) => one.variable === variable)
    assert.ok(problem, `${variable}=${wrong} is taken`)
    const { message } = problem
    assert.match(message, /^(must|has a key that it cannot have)/)
    assert.ok(message.includes(setting.description ?? '-'), message)
    assert.match(message, /Unset: \S/)
    if (message.startsWith('must be')) assert.ok(shown(wrong).some((not) => message.includes(not)))
  }
})

test('an unknown choice of a setting is reported with the allowed ones', () => {
  const [problem] = problemsOf({ LOG_LEVEL: 'loud' })
  assert.match(problem?.message ?? '', /must be one of trace, debug, .* not "loud"/)
})

test('an invalid secret is not printed in its error', () => {
  const secrets = SETTING_ENTRIES.filter(([, { secret }]) => secret !== undefined)
  assert.ok(secrets.length > 5)
  for (const [key, setting] of secrets) {
    const shown = JSON.stringify(problemsOf({ [variableOf(key, setting)]: 'hush hush' }))
    assert.ok(!shown.includes('hush'), shown)
    const given = JSON.stringify(problemsOf({}, { [key]: { eth: ['hush'] } }))
    assert.ok(!given.includes('hush'), given)
  }
})
