import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { makeProgram } from '../../cli/main.ts'
import { documentedVariableOf, SETTINGS } from '../../core/config/settings.ts'
import { CHAINS } from '../../schemas/chains.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md'],
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** Lines of the shell blocks of a page, without comments; a backslash joins a line with the next one. */
const shellLines = (page: string): readonly string[] =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].flatMap(
    ([, block = '']) =>
      block
        .replaceAll('\\\n', ' ')
        .split('\n')
        .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
        .filter((line) => line !== ''),
  )

const SHELL_LINES = PAGES.flatMap((page) => shellLines(page).map((line) => ({ page, line })))

/** The words of one `sluice` command line. */
interface SluiceCall {
  readonly page: string
  readonly words: readonly string[]
}

const withoutQuotes = (word: string): string => word.replace(/^['"]|['"]$/g, '')

/** Commands of a line, as `&&`, `&` and pipes separate them, that run `sluice`; `npm start --` is `sluice start`. */
const sluiceCalls = ({ page, line }: { readonly page: string; readonly line: string }) =>
  line.split(/&&?|\|/).flatMap((command): readonly SluiceCall[] => {
    const text = command.trim().replace(/^(?:[A-Z_]+=\S* )+/, '')
    const start = /^npm start(?: -- (.*))?$/.exec(text)
    const call = start ? `start ${start[1] ?? ''}` : /^npx(?: --no)? sluice (.*)$/.exec(text)?.[1]
    if (call === undefined) return []
    return [{ page, words: call.trim().split(/\s+/).map(withoutQuotes) }]
  })

/** What is wrong with a call; undefined when the command, its options and its arguments exist. */
const mistakeIn = ({ page, words }: SluiceCall): string | undefined => {
  let command: Command = makeProgram(() => undefined)
  let rest = [...words]
  for (;;) {
    const next = command.commands.find((one) => one.name() === rest[0])
    if (next === undefined) break
    command = next
    rest = rest.slice(1)
  }
  const said = `${page}: sluice ${words.join(' ')}`
  if (command.parent === null || command.commands.length > 0) return `${said}: unknown command`
  const { operands, unknown } = command.parseOptions(rest)
  if (unknown.length > 0) return `${said}: unknown option ${unknown[0]}`
  const { registeredArguments } = command
  const isMissing = registeredArguments.filter(({ required }) => required).length > operands.length
  const isVariadic = registeredArguments.some(({ variadic }) => variadic)
  if (isMissing || (operands.length > registeredArguments.length && !isVariadic))
    return `${said}: wrong number of arguments`
  return undefined
}

test('every command line in a document is a `sluice` command with existing options', () => {
  const calls = SHELL_LINES.flatMap(sluiceCalls)
  assert.ok(calls.length > 20)
  assert.deepEqual(calls.map(mistakeIn).filter(Boolean), [])
})

test('the check refuses an unknown command, an unknown option and a missing argument', () => {
  for (const line of ['statu', 'status --wacth', 'tail', 'dlq', 'status now'])
    assert.ok(mistakeIn({ page: 'a page', words: line.split(' ') }), line)
})

test('a variable that a shell line of a document sets is a setting', () => {
  const known = new Set<string>()
  for (const [key, leaf] of Object.entries(SETTINGS)) known.add(documentedVariableOf(key, leaf))
  for (const { apiName } of Object.values(CHAINS)) known.add(`RPC_URLS_${apiName.toUpperCase()}`)
  const unknown = SHELL_LINES.flatMap(({ page, line }) =>
    [...line.matchAll(/(?:^|\s)([A-Z][A-Z_]+)=/g)]
      .map(([, name = '']) => name)
      .filter((name) => !known.has(name) && !name.startsWith('SLUICE_'))
      .map((name) => `${page}: ${name}`),
  )
  assert.deepEqual(unknown, [])
})

test('test files that the CI script runs exist', () => {
  const script = readFileSync(join(ROOT, '.ci/run'), 'utf8')
  const files = [...script.matchAll(/\b(?:unit|contract)\/[a-z0-9-]+/g)].map(([name]) => name)
  assert.ok(files.length >= 5, 'the script runs test files by name')
  const missing = files.filter((name) => !existsSync(join(ROOT, 'test', `${name}.test.ts`)))
  assert.deepEqual(missing, [])
})
