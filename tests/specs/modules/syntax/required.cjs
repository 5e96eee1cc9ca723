module.exports = { text: "required helper" };
