/** Reads the operations of a Rust client that progenitor generated, and writes a function that calls each by its name. */

export interface RustParameter {
  readonly name: string
  /** As the source of the crate writes it, without `Option`. */
  readonly type: string
  readonly isRequired: boolean
}

export interface RustOperation {
  readonly name: string
  /** With `{NAME}` for what a path names. */
  readonly path: string
  readonly parameters: readonly RustParameter[]
}

const OPERATION = /^ {4}pub fn (\w+)\(\s*&self,?\s*\) -> builder::(\w+)</gm
const FIELD = /^ {8}(\w+): Result<(.+), (?:::std::string::)?String>$/
const REQUEST = /Sends a `[A-Z]+` request to `([^`]+)`/
const OPTIONAL = /^(?:::std::option::)?Option<(.+)>$/

const parameterOf = (field: string): RustParameter | undefined => {
  const [, name, whole] = FIELD.exec(field) ?? []
  if (name === undefined || whole === undefined) return undefined
  const optional = OPTIONAL.exec(whole)?.[1]
  const type = (optional ?? whole).replace('types::builder::', 'types::')
  return { name, type, isRequired: optional === undefined }
}

/** Every operation of the source of such a client. */
export const rustOperations = (source: string): readonly RustOperation[] => {
  const builders = source.slice(source.indexOf('\npub mod builder'))
  return [...source.matchAll(OPERATION)].map(([, name = '', kind]) => {
    const head = `pub struct ${kind}<'a> {`
    const from = builders.indexOf(head)
    if (from === -1) throw new Error(`${kind} is not in the source`)
    const body = builders.slice(from + head.length, builders.indexOf('\n    }', from))
    const fields = body
      .replaceAll(/\s*\n\s{12,}/g, ' ')
      .replaceAll(/< /g, '<')
      .replaceAll(/,? ?\n {8}>/g, '>')
      .replaceAll(/, >/g, '>')
      .split('\n')
      .map((line) => line.replace(/,$/, ''))
    const parameters = fields.flatMap((field) => parameterOf(field) ?? [])
    const lines = fields.filter((field) => field.trim() !== '' && !field.includes('super::Client'))
    if (lines.length !== parameters.length) throw new Error(`${name}: ${lines.join('; ')}`)
    const path = REQUEST.exec(builders.slice(from))?.[1]
    if (path === undefined) throw new Error(`${name}: without a path`)
    return { name, path, parameters }
  })
}

const armOf = ({ name, parameters }: RustOperation): string =>
  [
    `        ${JSON.stringify(name)} => {`,
    `            ${parameters.length > 0 ? 'let mut call' : 'let call'} = client.${name}();`,
    ...parameters.map(
      (one) =>
        `            if let Some(value) = given.take::<${one.type}>("${one.name}")? { call = call.${one.name}(value); }`,
    ),
    '            Ok(Box::pin(outcome(call.send())).await)',
    '        }',
  ].join('\n')

/** `operations.rs`: one function that calls an operation by its name, with whichever arguments are given. */
export const rustDispatch = (
  operations: readonly RustOperation[],
): string => `use chainstream_sdk::openapi::{Client, types};
use serde_json::{Value, json};

use crate::{Given, outcome};

pub async fn call(client: &Client, operation: &str, given: &Given) -> Result<Value, Value> {
    match operation {
${operations.map(armOf).join('\n')}
        _ => Err(json!({ "refused": "the crate has no such operation" })),
    }
}
`
