// What scripts find changed in their JavaScript library, and why: the engine can be
// interrupted between two of its own instructions, but not inside of a function of the
// library. So whatever a single call could make huge is bounded here, or done in
// JavaScript. Java's methods of strings are added because the original has them.
//
// Every script has a library of its own, so only what its text can reach is changed:
// `names` are the functions that it names, `needs` says which groups it needs.
(function (host, global, params, names, needs) {
  var put = host.put, apply = Reflect.apply, construct = Reflect.construct, isArray = Array.isArray;
  var maxItems = 1000000, maxText = 4 << 20;
  var arrays = Array.prototype, strings = String.prototype;

  function tooLong(what) {
    throw new RangeError(what + ' would be too long for an expression');
  }
  function checkList(list) {
    if (list != null && list.length > maxItems) tooLong('the list');
  }
  function checkSorted(list) {
    if (list != null && list.length > maxItems / 10) tooLong('the list');
  }
  function checkText(text) {
    if (text != null && text.length > maxText) tooLong('the text');
  }
  // wrap calls check with (this, arguments) before the function of the library.
  function wrap(object, name, check) {
    var native = object[name];
    if (typeof native !== 'function') return;
    put(object, name, function () {
      'use strict';
      check(this, arguments);
      return apply(native, this, arguments);
    });
  }

  // Functions of lists walk over `length`, also over holes.
  var lists = {
    sort: checkSorted, toSorted: checkSorted,
    concat: function (list, args) {
      var total = list != null && list.length || 0;
      for (var i = 0; i < args.length; i++) total += args[i] != null && args[i].length || 1;
      if (total > maxItems) tooLong('the list');
    }
  };
  names.forEach(function (name) {
    if (name in arrays && name !== 'join' && name !== 'flat') wrap(arrays, name, lists[name] || checkList);
  });
  if (needs.lists) guardLists();
  if (needs.texts) guardTexts();
  if (needs.code) guardCode();
  if (needs.regexp) guardRegExp();
  if (needs.java) addJava();
  if (needs.memory) {
    // Memory that no limit would see.
    ['ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray',
      'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array', 'Float64Array',
      'BigInt64Array', 'BigUint64Array', 'BigInt', 'WeakRef'].forEach(function (name) {
      delete global[name];
    });
  }

  function checkArguments(list) {
    if (list != null && list.length > maxItems / 10) tooLong('the list of arguments');
  }
  // guardLists is about what happens to lists without being named, or by other names.
  function guardLists() {
    wrap(arrays, 'values', checkList);
    put(arrays, Symbol.iterator, arrays.values);
    wrap(Array, 'from', function (_, args) { if (typeof args[0] === 'object') checkList(args[0]); });
    wrap(Function.prototype, 'apply', function (_, args) { checkArguments(args[1]); });
    wrap(Reflect, 'apply', function (_, args) { checkArguments(args[2]); });
    wrap(Reflect, 'construct', function (_, args) { checkArguments(args[1]); });

    var nativeJoin = arrays.join, joining = [];
    function join(list, separator, text) {
      list = Object(list);
      checkList(list);
      if (joining.indexOf(list) >= 0) return ''; // a list inside of itself
      joining.push(list);
      try {
        var parts = [], total = 0;
        for (var i = 0; i < list.length; i++) {
          var part = list[i] == null ? '' : text(list[i]);
          total += part.length + separator.length;
          if (total > maxText) tooLong('the text');
          parts[i] = part;
        }
        return apply(nativeJoin, parts, [separator]);
      } finally {
        joining.pop();
      }
    }
    put(arrays, 'join', function (separator) {
      'use strict';
      return join(this, separator === undefined ? ',' : `${separator}`, function (v) { return `${v}`; });
    });
    put(arrays, 'toLocaleString', function () {
      'use strict';
      return join(this, ',', function (v) { return `${v.toLocaleString()}`; });
    });
    put(arrays, 'flat', function (depth) {
      'use strict';
      var out = [];
      (function walk(list, depth) {
        checkList(list);
        for (var i = 0; i < list.length; i++) {
          if (!(i in list)) continue;
          if (depth > 0 && isArray(list[i])) walk(list[i], depth - 1);
          else out[out.length] = list[i];
        }
        checkList(out);
      })(Object(this), depth === undefined ? 1 : Math.trunc(depth) || 0);
      return out;
    });
  }

  // checkReplace bounds a replacement, all matches being empty at worst.
  function checkReplace(text, by) {
    checkText(text);
    if (typeof by !== 'string' || text == null) return;
    var total = (text.length + 1) * by.length;
    if (by.indexOf('$') >= 0) {
      total += text.length * by.split('$').length;
      if (by.indexOf('$`') >= 0 || by.indexOf("$'") >= 0) total += text.length * text.length;
    }
    if (total > 16 * maxText) tooLong('the text');
  }
  function checkPadding(_, args) {
    if (args[0] > maxText) tooLong('the text');
  }
  function guardTexts() {
    wrap(strings, 'repeat', function (text, args) {
      if (text != null && `${text}`.length * args[0] > maxText) tooLong('the text');
    });
    wrap(strings, 'padStart', checkPadding);
    wrap(strings, 'padEnd', checkPadding);
    wrap(strings, 'split', checkText);
    wrap(strings, 'replace', function (text, args) { checkReplace(text, args[1]); });
    wrap(strings, 'replaceAll', function (text, args) { checkReplace(text, args[1]); });
    wrap(JSON, 'parse', function (_, args) {
      checkText(args[0]);
      host.checkNesting(`${args[0]}`);
    });
  }

  // guardCode has code made of text pass the checks of the expressions themselves.
  function guardCode() {
    var NativeFunction = Function, nativeEval = eval;
    function guardedFunction() {
      var args = [];
      for (var i = 0; i < arguments.length; i++) args[i] = `${arguments[i]}`;
      host.checkCode(args.join(' '));
      return construct(NativeFunction, args);
    }
    guardedFunction.prototype = NativeFunction.prototype;
    put(global, 'Function', guardedFunction);
    [function () {}, function* () {}, async function () {}].forEach(function (f) {
      put(Object.getPrototypeOf(f), 'constructor', guardedFunction);
    });
    put(global, 'eval', (function (eval) {
      return function (code) {
        if (typeof code !== 'string') return code;
        host.checkCode(code);
        with (params) { return eval(code); }
      };
    })(nativeEval));
    wrap(RegExp.prototype, Symbol.replace, function (_, args) { checkReplace(args[0], args[1]); });
  }
  function guardRegExp() {
    var NativeRegExp = RegExp;
    function guardedRegExp(pattern, flags) {
      if (pattern != null && !(pattern instanceof NativeRegExp) && `${pattern}`.length > 10000) {
        tooLong('the regular expression');
      }
      if (!new.target) return apply(NativeRegExp, undefined, arguments);
      return construct(NativeRegExp, arguments, new.target === guardedRegExp ? NativeRegExp : new.target);
    }
    guardedRegExp.prototype = NativeRegExp.prototype;
    Object.setPrototypeOf(guardedRegExp, NativeRegExp);
    put(global, 'RegExp', guardedRegExp);
    put(NativeRegExp.prototype, 'constructor', guardedRegExp);
    delete NativeRegExp.prototype.compile;
  }

  function addJava() {
    var NativeRegExp = RegExp;
    function javaPattern(regex, flags) {
      var inline = /^\(\?([a-z]+)\)/.exec(regex);
      if (inline) {
        regex = regex.slice(inline[0].length);
        flags += inline[1].replace(/[^ims]/g, '');
      }
      if (regex.length > 10000) tooLong('the regular expression');
      return new NativeRegExp(regex, flags);
    }
    // javaReplacement returns what writes a match: "$1" and "${name}" are groups, a
    // backslash makes the next character plain.
    function javaReplacement(by) {
      return function () {
        var groups = arguments, names = arguments[arguments.length - 1];
        return by.replace(/\\([\s\S]?)|\$(?:(\d)|\{(\w+)\})?/g, function (all, plain, digit, name) {
          if (all[0] === '\\') return plain;
          var value = digit !== undefined ? groups[digit] : name !== undefined && names ? names[name] : null;
          if (value === null) throw new TypeError('Illegal group reference');
          return value === undefined ? '' : value;
        });
      };
    }
    function javaReplace(flags, native) {
      return function (pattern, by) {
        'use strict';
        var text = `${this}`;
        if (pattern instanceof NativeRegExp || typeof by === 'function') {
          checkReplace(text, by);
          return apply(native, text, arguments);
        }
        by = `${by}`;
        checkReplace(text, by);
        return text.replace(javaPattern(`${pattern}`, flags), javaReplacement(by));
      };
    }
    var java = {
      replaceAll: javaReplace('g', strings.replaceAll),
      replaceFirst: javaReplace('', strings.replace),
      matches: function (regex) { return javaPattern('^(?:' + regex + ')$', '').test(this); },
      contains: function (text) { return `${this}`.indexOf(text) >= 0; },
      isEmpty: function () { return `${this}` === ''; },
      isBlank: function () { return `${this}`.trim() === ''; },
      equals: function (text) { return `${this}` === text; },
      equalsIgnoreCase: function (text) {
        return text != null && `${this}`.toUpperCase() === `${text}`.toUpperCase();
      },
      compareTo: function (text) {
        var a = `${this}`, b = `${text}`;
        for (var i = 0; i < a.length && i < b.length; i++) {
          if (a[i] !== b[i]) return a.charCodeAt(i) - b.charCodeAt(i);
        }
        return a.length - b.length;
      },
      compareToIgnoreCase: function (text) {
        return `${this}`.toLowerCase().compareTo(`${text}`.toLowerCase());
      },
      strip: strings.trim,
      stripLeading: strings.trimStart,
      stripTrailing: strings.trimEnd,
      hashCode: function () {
        for (var i = 0, h = 0, text = `${this}`; i < text.length; i++) h = (31 * h + text.charCodeAt(i)) | 0;
        return h;
      },
      toCharArray: function () { return `${this}`.split(''); }
    };
    Object.keys(java).forEach(function (name) { put(strings, name, java[name]); });
  }

  // Date and moment are made when a script first asks for them.
  function lazy(name, make) {
    Object.defineProperty(global, name, {
      configurable: true, enumerable: false,
      get: function () { make(); return global[name]; },
      set: function (value) { put(global, name, value); }
    });
  }
  if (needs.dates) {
    var NativeDate = Date;
    lazy('Date', function () { put(global, 'Date', host.makeDate(NativeDate)); });
    lazy('moment', host.loadMoment);
  }
})
