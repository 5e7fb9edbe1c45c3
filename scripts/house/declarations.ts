// What is declared in many places: bags of options, and bounds of the fields of the API.

import ts from "@typescript/typescript6";
import { locate, type SourceFile, walk } from "../source-files.ts";
import type { Figure } from "./figure.ts";

export function optionBags(files: readonly SourceFile[]): Figure[] {
  const bags: string[] = [];
  const functions: string[] = [];
  const takenApart: string[] = [];
  for (const file of files) {
    walk(file.tree, (node) => {
      if (ts.isInterfaceDeclaration(node) && node.name.text.endsWith("Options")) {
        bags.push(`${locate(file, node)} ${node.name.text}`);
        for (const member of node.members.filter(isFunctionTyped))
          functions.push(`${locate(file, member)} ${node.name.text}.${member.name?.getText() ?? ""}`);
      }
      if (isTypeOfParameter(node)) takenApart.push(`${locate(file, node)} ${node.getText()}`);
    });
  }
  return [
    { name: "interfaces *Options", value: bags.length, found: bags },
    { name: "interfaces *Options: members that are functions", value: functions.length, found: functions },
    {
      name: "types taken out of a signature (Parameters<…>[n])",
      value: takenApart.length,
      found: takenApart,
    },
  ];
}

/** `x: (…) => …`, with or without null or undefined beside it, and `x(…): …`. */
function isFunctionTyped(member: ts.TypeElement): boolean {
  if (ts.isMethodSignature(member)) return true;
  if (!ts.isPropertySignature(member) || member.type === undefined) return false;
  const types = ts.isUnionTypeNode(member.type) ? member.type.types : [member.type];
  return types.some((type) => ts.isFunctionTypeNode(ts.isParenthesizedTypeNode(type) ? type.type : type));
}

function isTypeOfParameter(node: ts.Node): boolean {
  return (
    ts.isTypeReferenceNode(node) &&
    node.typeName.getText() === "Parameters" &&
    node.typeArguments !== undefined
  );
}

const placesOfFields = /^src\/(api|engine\/management|services|cli|core\/resources)\//;
const boundNames = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "min",
  "max",
  "lengthMin",
  "lengthMax",
  "countMin",
  "countMax",
]);

/** Places that write a bound down: as a property of a schema or of a rule, or as a named number. */
export function bounds(files: readonly SourceFile[]): Figure[] {
  const found: string[] = [];
  for (const file of files.filter(({ path }) => placesOfFields.test(path))) {
    walk(file.tree, (node) => {
      if (isBound(node)) found.push(`${locate(file, node)} ${node.getText().split("\n")[0]}`);
    });
  }
  const byPlace = Object.entries(Object.groupBy(found, (entry) => placesOfFields.exec(entry)?.[1] ?? ""));
  return [
    { name: "bounds of fields", value: found.length, found },
    ...byPlace.map(([place, entries]) => ({
      name: `bounds of fields in src/${place}`,
      value: entries?.length ?? 0,
    })),
  ];
}

function isBound(node: ts.Node): boolean {
  if (ts.isPropertyAssignment(node)) return boundNames.has(node.name.getText());
  if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return false;
  return /(Max|Min)$/.test(node.name.getText()) && isNumeric(node.initializer);
}

/** A number, or a calculation with numbers. */
function isNumeric(node: ts.Expression): boolean {
  if (ts.isBinaryExpression(node)) return isNumeric(node.left) && isNumeric(node.right);
  return ts.isNumericLiteral(node);
}
